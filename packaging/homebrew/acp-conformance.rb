class AcpConformance < Formula
  desc "Checks agents and clients against the Agent Client Protocol"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license "Apache-2.0"

  on_macos do
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/acp-conformance-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256_aarch64-apple-darwin@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/acp-conformance-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256_x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/acp-conformance-aarch64-unknown-linux-gnu.tar.gz"
      sha256 "@SHA256_aarch64-unknown-linux-gnu@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/acp-conformance-x86_64-unknown-linux-gnu.tar.gz"
      sha256 "@SHA256_x86_64-unknown-linux-gnu@"
    end
  end

  def install
    bin.install "acp-conformance"
    generate_completions_from_executable(bin/"acp-conformance", "completions")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/acp-conformance --version")
    assert_match "cancel.stop-reason", shell_output("#{bin}/acp-conformance list --requirements")
  end
end
