//! Has the program built again when a case changes: the cases are embedded, and the compiler does not see new files.

fn main() {
    for folder in ["cases", "schemas", "profiles"] {
        println!("cargo:rerun-if-changed={folder}");
    }
}
