{
  description = "Checks agents and clients against the Agent Client Protocol";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { nixpkgs, ... }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      root = ../..;
      manifest = builtins.fromTOML (builtins.readFile (root + "/Cargo.toml"));
      package =
        pkgs:
        pkgs.rustPlatform.buildRustPackage {
          pname = "acp-conformance";
          version = manifest.workspace.package.version;
          src = root;
          cargoLock.lockFile = root + "/Cargo.lock";
          cargoBuildFlags = [ "--package" "acp-conformance" ];
          # The tests need Chromium and more; CI runs them.
          doCheck = false;
          nativeBuildInputs = [ pkgs.installShellFiles ];
          postInstall = pkgs.lib.optionalString (pkgs.stdenv.buildPlatform.canExecute pkgs.stdenv.hostPlatform) ''
            installShellCompletion --cmd acp-conformance \
              --bash <($out/bin/acp-conformance completions bash) \
              --fish <($out/bin/acp-conformance completions fish) \
              --zsh <($out/bin/acp-conformance completions zsh)
          '';
          meta = {
            inherit (manifest.package) description;
            license = pkgs.lib.licenses.asl20;
            mainProgram = "acp-conformance";
          };
        };
    in
    {
      packages = nixpkgs.lib.genAttrs systems (system: {
        default = package nixpkgs.legacyPackages.${system};
      });
    };
}
