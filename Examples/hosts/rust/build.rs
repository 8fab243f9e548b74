// Finds the library with pkg-config, as any program would.
fn main() {
    let ask = |what: &str| {
        let out = std::process::Command::new("pkg-config").args([what, "signalbox"]).output().expect("pkg-config");
        assert!(out.status.success(), "pkg-config does not know signalbox: set PKG_CONFIG_PATH");
        String::from_utf8(out.stdout).expect("text").trim().to_string()
    };
    let folder = ask("--variable=libdir");
    println!("cargo:rustc-link-search=native={folder}");
    println!("cargo:rustc-link-lib=dylib=signalbox");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
}
