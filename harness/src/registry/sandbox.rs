//! The folders and the environment of an entry. They keep programs apart and secrets out of their environment; they do
//! not confine a hostile program, which still has the user's rights.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::transport::folder::remove_folder;
use crate::transport::process::{ENTRY_MARKER, Environment};
use crate::transport::relay::short_temp_dir;

/// The variables of the user that every program gets.
const COMMON: [&str; 8] = ["PATH", "LANG", "LANGUAGE", "TZ", "TERM", "USER", "LOGNAME", "SHELL"];

/// The variables that only package managers and downloads get, in lower case: how to reach a package server.
const FOR_INSTALLS: [&str; 11] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "ssl_cert_file",
    "ssl_cert_dir",
    "curl_ca_bundle",
    "requests_ca_bundle",
    "node_extra_ca_certs",
    "pip_cert",
    "pyenv_root",
];

/// The beginnings of the names of further such variables, in lower case.
const SETTINGS: [&str; 3] = ["npm_config_", "pip_", "uv_"];

/// The folders of one entry while it is installed or tested. Dropping it removes them.
#[derive(Debug)]
pub(super) struct EntryFolders {
    root: PathBuf,
}

impl EntryFolders {
    /// Makes the folders.
    ///
    /// # Errors
    ///
    /// File system errors.
    pub(super) fn make() -> io::Result<Self> {
        // The paths of sockets below it are limited to about 100 bytes.
        let root = tempfile::Builder::new().prefix("acp-e-").tempdir_in(short_temp_dir())?.keep();
        let folders = Self { root: root.canonicalize()? };
        for folder in ["home", "work", "t"] {
            std::fs::create_dir(folders.root.join(folder))?;
        }
        DirBuilder::new().mode(0o700).create(folders.root.join("run"))?;
        Ok(folders)
    }

    /// Returns the folder of all of them.
    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the empty working folder.
    pub(super) fn work(&self) -> PathBuf {
        self.root.join("work")
    }

    /// Returns the mark of every process of the entry.
    pub(super) fn marker(&self) -> String {
        self.root.display().to_string()
    }

    /// Returns the environment of the programs of the entry: nothing of the user's but the most common variables.
    pub(super) fn environment(&self) -> Environment {
        self.with(is_common)
    }

    /// Returns the environment of an installation, which may also need proxies, certificates and the settings of
    /// package managers.
    pub(super) fn for_installs(&self, cache: &Path) -> Environment {
        let environment = self.with(|name| is_common(name) || is_for_installs(name));
        // The user's HOME is hidden, so its settings of package servers and its toolchain are named.
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let settings = [
            ("NPM_CONFIG_USERCONFIG", ".npmrc"),
            ("PIP_CONFIG_FILE", ".config/pip/pip.conf"),
            ("PIP_CONFIG_FILE", ".pip/pip.conf"),
            ("UV_CONFIG_FILE", ".config/uv/uv.toml"),
            // Some packages are compiled.
            ("RUSTUP_HOME", ".rustup"),
        ];
        let named = settings.into_iter().map(|(name, file)| (name, home.join(file)));
        let named = named.filter(|(name, file)| std::env::var_os(name).is_none() && file.exists());
        let environment = named.fold(environment, |all, (name, file)| all.with(name, file));
        // All entries share what was downloaded.
        let downloads = cache.join("downloads");
        let places = [("npm_config_cache", "npm"), ("PIP_CACHE_DIR", "pip"), ("UV_CACHE_DIR", "uv")];
        let places = places.into_iter().chain([("UV_PYTHON_INSTALL_DIR", "python")]);
        places.fold(environment, |all, (name, folder)| all.with(name, downloads.join(folder)))
    }

    fn with(&self, is_kept: impl Fn(&str) -> bool) -> Environment {
        let dropped = std::env::vars_os().map(|(name, _)| name).filter(|name| !name.to_str().is_some_and(&is_kept));
        let environment = dropped.fold(Environment::default(), Environment::without);
        let folders = [("HOME", "home"), ("TMPDIR", "t"), ("XDG_RUNTIME_DIR", "run")];
        let environment = folders.into_iter().fold(environment, |all, (name, it)| all.with(name, self.root.join(it)));
        environment.with(ENTRY_MARKER, self.marker())
    }
}

impl Drop for EntryFolders {
    fn drop(&mut self) {
        // A failed removal has no further remedy, and no result depends on it.
        let _ = remove_folder(&self.root);
    }
}

fn is_common(name: &str) -> bool {
    COMMON.contains(&name) || name.starts_with("LC_")
}

fn is_for_installs(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    FOR_INSTALLS.contains(&name.as_str()) || SETTINGS.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_installs_see_the_settings_of_package_managers() {
        for name in
            ["HTTPS_PROXY", "https_proxy", "npm_config_registry", "NPM_CONFIG_REGISTRY", "PIP_INDEX_URL", "UV_INDEX"]
        {
            assert!(is_for_installs(name) && !is_common(name), "{name}");
        }
        for name in ["OPENAI_API_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK", "HOME", "XDG_CONFIG_HOME"] {
            assert!(!is_for_installs(name) && !is_common(name), "{name}");
        }
        assert!(is_common("PATH") && is_common("LC_ALL"));
    }
}
