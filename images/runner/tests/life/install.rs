//! The installer, as the init container runs it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::programs;

#[test]
fn programs_and_names_are_put_into_place_as_often_as_asked() {
    let image = tempfile::tempdir().unwrap();
    let target = tempfile::tempdir().unwrap();
    let program = image.path().join("mooring-runner");
    programs::copy(Path::new(env!("CARGO_BIN_EXE_mooring-runner")), &program);
    fs::write(image.path().join("moor"), "moor itself").unwrap();
    for _ in 0..2 {
        let mut install = Command::new(&program);
        install.arg("install").arg(target.path());
        install.args(["--uid", "1234", "--gid", "5678"]);
        assert!(install.status().unwrap().success());
    }
    let at = |path: &str| target.path().join(path);
    assert_eq!(fs::read(at("bin/moor")).unwrap(), b"moor itself");
    let mut names: Vec<_> = fs::read_dir(at("bin"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["moor", "mooring-runner"]);
    for name in ["moor", "mooring-runner"] {
        let mode = fs::metadata(at("bin").join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o755);
    }
    let version = Command::new(at("bin/mooring-runner"))
        .arg("--version")
        .output();
    assert!(version.unwrap().status.success());
    let passwd = fs::read_to_string(at("etc/passwd")).unwrap();
    assert!(passwd.contains("agent:x:1234:5678:"), "{passwd}");
    assert!(
        fs::read_to_string(at("etc/group"))
            .unwrap()
            .contains("agent:x:5678:")
    );
}

#[test]
fn a_program_that_lacks_is_named() {
    let image = tempfile::tempdir().unwrap();
    let program = image.path().join("mooring-runner");
    programs::copy(Path::new(env!("CARGO_BIN_EXE_mooring-runner")), &program);
    let done = Command::new(&program)
        .arg("install")
        .arg(image.path().join("to"))
        .output();
    let done = done.unwrap();
    assert!(!done.status.success());
    let words = String::from_utf8(done.stderr).unwrap();
    assert!(words.contains("/moor: "), "{words}");
}
