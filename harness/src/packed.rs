//! The texts and folders that the build packs into the program, and their unpacking.
//!
//! Together they have about 6 MB, and an eighth of that packed. Most commands need a few of them.

use std::borrow::Cow;
use std::collections::BTreeMap;

use miniz_oxide::inflate::decompress_to_vec;

/// Returns a text. A large text is packed in the program, and each call unpacks it.
pub type Text = fn() -> Cow<'static, str>;

/// Returns the files of a folder by their paths below it. The first call unpacks them.
pub type Folder = fn() -> &'static BTreeMap<String, String>;

/// The [`Text`] that the build packed, by the name that it has there, in one part or several.
macro_rules! packed {
    ($($name:literal)+) => {
        || $crate::packed::unpacked(include_bytes!(concat!(env!("OUT_DIR"), "/", $($name,)+ ".deflate")))
    };
}

/// The [`Folder`] that the build packed, by the name that it has there.
macro_rules! packed_folder {
    ($($name:literal)+) => {
        || {
            static FILES: ::std::sync::OnceLock<::std::collections::BTreeMap<String, String>> =
                ::std::sync::OnceLock::new();
            let packed = include_bytes!(concat!(env!("OUT_DIR"), "/", $($name,)+ ".deflate"));
            FILES.get_or_init(|| $crate::packed::unpacked_folder(packed))
        }
    };
}

pub(crate) use {packed, packed_folder};

/// Unpacks a text. The tests of this package exclude a broken one, which would be empty.
pub(crate) fn unpacked(bytes: &[u8]) -> Cow<'static, str> {
    let text = decompress_to_vec(bytes).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.unwrap_or_default().into()
}

/// Unpacks the files of a folder. The tests of this package exclude a broken one, which would be empty.
pub(crate) fn unpacked_folder(bytes: &[u8]) -> BTreeMap<String, String> {
    serde_json::from_str(&unpacked(bytes)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn packed_folders_have_every_file_of_the_folder() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folders: [(&str, Folder, &str); 5] = [
            ("cases/v1", packed_folder!("cases-v1.json"), "yaml"),
            ("cases/v2", packed_folder!("cases-v2.json"), "yaml"),
            ("profiles", packed_folder!("profiles.json"), "toml"),
            ("profiles/editors", packed_folder!("editors.json"), "txt"),
            ("harness/tests/traces", packed_folder!("traces.json"), "txt"),
        ];
        for (below, files, kind) in folders {
            let mut paths = Vec::new();
            list(&root.join(below), kind, &mut paths);
            assert!(!paths.is_empty(), "{below} has no file");
            assert_eq!(files().len(), paths.len(), "{below}");
            for path in paths {
                let name = path.strip_prefix(root.join(below)).expect("a path below the folder").to_string_lossy();
                assert_eq!(files().get(&*name), fs::read_to_string(&path).ok().as_ref(), "{}", path.display());
            }
        }
    }

    fn list(folder: &Path, kind: &str, paths: &mut Vec<std::path::PathBuf>) {
        for entry in fs::read_dir(folder).expect("the folder can be read") {
            let path = entry.expect("the folder can be read").path();
            if path.is_dir() {
                list(&path, kind, paths);
            } else if path.extension().is_some_and(|extension| extension == kind) {
                paths.push(path);
            }
        }
    }
}
