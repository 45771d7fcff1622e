//! Tests hash trees: `lith build --verity`, `lith verity`, and reading by a root hash.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::Command,
};

use lith_testkit::{oracle::tools::is_in_path, tier};

use super::{
    args,
    mount::{self, MountPoint},
    sample::{Sample, complaint, files_in, json, lith, printed},
};

/// A sample, its image with a hash tree after it, and the root hash.
fn protected(options: &[&str]) -> (Sample, PathBuf, String) {
    let sample = Sample::new();
    let image = sample.path("image.erofs");
    let build = ["build", "--json", "--verity"].iter().chain(options).map(Into::into);
    let made = json(build.chain(args![sample.src(), image]));
    let root = made.pointer("/verity/root_hash").unwrap().as_str().unwrap().to_owned();
    (sample, image, root)
}

/// Whether a program is there; if not, that is reported.
fn has(program: &str) -> bool {
    let is_there = is_in_path(program);
    if is_there {
        tier::ran(program);
    } else {
        tier::skip(program, "not installed");
    }
    is_there
}

/// Runs another program, which must succeed, and returns its output.
fn run<S: AsRef<std::ffi::OsStr>>(program: &str, args: impl IntoIterator<Item = S>) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Flips a bit of a byte of a file.
fn flip(path: &Path, at: u64) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
}

#[test]
fn trees_are_those_of_veritysetup() {
    if !has("veritysetup") {
        return;
    }
    for options in [
        &[][..],
        &["--verity-block=512"],
        &["--verity-block=8K"],
        &["-b", "512", "--verity-block=1K"],
        &["--salt=00ff10", "--verity-uuid=01234567-89ab-cdef-0123-456789abcdef"],
        &["--salt=-"],
    ] {
        let (sample, image, root) = protected(options);
        let about = json(args!["verity", "info", "--json", image]);
        let text = |name: &str| match &about[name] {
            serde_json::Value::String(text) => text.clone(),
            number => number.to_string(),
        };
        let offset = about["hash_offset"].as_u64().unwrap();
        let theirs = sample.path("theirs");
        fs::copy(&image, &theirs).unwrap();
        File::options().write(true).open(&theirs).unwrap().set_len(offset).unwrap();
        let salt = text("salt");
        let made = run(
            "veritysetup",
            [
                "format",
                "--salt",
                if salt.is_empty() { "-" } else { &salt },
                "--uuid",
                &text("uuid"),
                "--data-block-size",
                &text("data_block_size"),
                "--hash-block-size",
                &text("hash_block_size"),
                "--data-blocks",
                &text("data_blocks"),
                "--hash-offset",
                &text("hash_offset"),
                theirs.to_str().unwrap(),
                theirs.to_str().unwrap(),
            ],
        );
        assert!(made.contains(&root), "{options:?}: {root} {made}");
        assert!(fs::read(&image).unwrap() == fs::read(&theirs).unwrap(), "{options:?}");
        run(
            "veritysetup",
            args!["verify", "--hash-offset", text("hash_offset"), image, image, root],
        );
    }
}

#[test]
fn a_tree_is_the_same_wherever_and_whenever_it_is_made() {
    let (sample, image, root) = protected(&[]);
    let (plain, tree) = (sample.path("plain.erofs"), sample.path("plain.verity"));
    let (root_hash, log) = (sample.path("plain.roothash"), sample.path("log"));
    printed(args!["build", "-q", sample.src(), plain]);
    let before = fs::read(&plain).unwrap();
    assert!(fs::read(&image).unwrap().starts_with(&before));
    let verity = format!("--verity={}", tree.display());
    let made = printed(args!["verity", "add", "--root-hash-file", root_hash, verity, plain]);
    assert!(made.contains(&root), "{made}");
    assert_eq!(fs::read_to_string(&root_hash).unwrap(), format!("{root}\n"));
    assert!(fs::read(&plain).unwrap() == before);
    printed(args!["verity", "verify", "--root-hash", root_hash, "--verity", tree, plain]);
    printed(args!["verity", "add", plain]);
    assert!(fs::read(&plain).unwrap() == fs::read(&image).unwrap());
    printed(args!["verity", "verify", "--root-hash", root, plain]);
    let twice = lith(args!["verity", "add", plain]);
    assert!(complaint(&twice).contains("it has a hash tree already"));
    fs::write(&log, "text").unwrap();
    let none = lith(args!["verity", "add", log]);
    assert_eq!(none.status.code(), Some(1));
    // Other verbs see no difference.
    printed(args!["check", plain]);
    assert_eq!(printed(args!["ls", "-R", plain]), printed(args!["ls", "-R", image]));
    printed(args!["report", "-q", "-o", sample.path("report.html"), plain]);
}

#[test]
fn a_verified_image_reads_as_any_other() {
    let (sample, image, root) = protected(&["--preset", "small"]);
    for verb in [&["ls", "-lR"][..], &["dump"], &["check"], &["stat"], &["map"]] {
        let path = matches!(verb, ["stat" | "map"]).then_some("/sub/large");
        let plain = verb.iter().map(Into::into).chain(args![image]).chain(path.map(Into::into));
        let plain: Vec<std::ffi::OsString> = plain.collect();
        let verified = plain.iter().cloned().chain(args!["--root-hash", root]);
        assert_eq!(printed(&plain), printed(verified), "{verb:?}");
    }
    let cat = printed(args!["cat", "--root-hash", root, image, "/hello"]);
    assert_eq!(cat, "hello, world\n");
    printed(args!["diff", "--root-hash-b", root, sample.src(), image]);
    let (copy, tar) = (sample.path("copy"), sample.path("copy.tar"));
    printed(args!["extract", "-q", "--root-hash", root, "-C", copy, image]);
    assert_eq!(files_in(&copy), files_in(&sample.src()));
    printed(args!["tar", "-q", "--root-hash", root, "-o", tar, image]);
    printed(args!["diff", tar, image]);
    let whole = sample.path("whole.erofs");
    let copied = lith(args!["flatten", "-q", "--root-hash", root, "-o", whole, image]);
    assert!(complaint(&copied).contains("not verified on the way"));
    let by_kernel = lith(args!["mount", "--kernel", "--root-hash", root, image, copy]);
    assert!(complaint(&by_kernel).contains("verifies nothing"));
}

#[test]
fn a_changed_byte_in_any_block_is_an_error() {
    let (sample, image, root) = protected(&["-z", "none", "--preset", "fast"]);
    let about = json(args!["verity", "info", "--json", image]);
    let end = about["hash_offset"].as_u64().unwrap();
    let blocks = about["data_blocks"].as_u64().unwrap();
    assert_eq!(blocks * 4096, end);
    let original = fs::read(&image).unwrap();
    let changed = sample.path("changed.erofs");
    for block in (0..blocks).step_by(7) {
        fs::write(&changed, &original).unwrap();
        flip(&changed, block * 4096 + block * 37 % 4096);
        let verified = lith(args!["verity", "verify", "--root-hash", root, changed]);
        let complaint = complaint(&verified);
        assert!(complaint.contains(&format!("block {block} (at byte {})", block * 4096)));
        assert_eq!(verified.status.code(), Some(1));
        // What is read of it is right, or an error.
        let list = lith(args!["cat", "--root-hash", root, changed, "/sub/large"]);
        let content = fs::read(sample.src().join("sub/large")).unwrap();
        assert!(content.starts_with(&list.stdout), "{block}");
        assert_eq!(list.status.success(), list.stdout == content, "{block}");
    }
    for at in [end, end + 4096, end + 4096 + 33] {
        fs::write(&changed, &original).unwrap();
        flip(&changed, at);
        for verb in ["ls", "check", "info", "extract"] {
            let output = lith(args![verb, "--root-hash", root, changed]);
            assert!(!output.status.success() && output.stdout.is_empty(), "{verb} {at}");
        }
    }
    let other = "0".repeat(64);
    let refused = lith(args!["ls", "--root-hash", other, image]);
    assert!(complaint(&refused).contains(&format!("root hash {root}, expected {other}")));
    let (_plain, without) = Sample::built();
    let none = lith(args!["ls", "--root-hash", other, without]);
    assert!(complaint(&none).contains("no hash tree is there"));
}

#[test]
fn bases_are_verified_by_the_digest_in_the_patch() {
    let (sample, base, _) = protected(&[]);
    fs::write(sample.src().join("new"), "new").unwrap();
    let (patch, root_hash) = (sample.path("patch.erofs"), sample.path("patch.roothash"));
    let build = args!["build", "-q", "--verity", "--base", base, "--root-hash-file", root_hash];
    printed(build.into_iter().chain(args![sample.src(), patch]));
    let diff = args!["diff", "--root-hash-b", root_hash, sample.src(), patch];
    printed(&diff);
    // A hash tree may be after a base or not: the patch refers to the image.
    let bytes = fs::read(&base).unwrap();
    let about = json(args!["verity", "info", "--json", base]);
    let end = usize::try_from(about["hash_offset"].as_u64().unwrap()).unwrap();
    fs::write(&base, &bytes[..end]).unwrap();
    printed(&diff);
    printed(args!["check", patch]);
    printed(args!["flatten", "-q", patch, "-o", sample.path("whole.erofs")]);
    fs::write(&base, &bytes[..end]).unwrap();
    flip(&base, 8192);
    let changed = lith(&diff);
    assert_eq!(changed.status.code(), Some(2));
    assert!(complaint(&changed).contains("has changed since"));
}

#[test]
fn bases_with_a_hash_tree_are_verified_block_by_block() {
    let (sample, base, _) = protected(&["-E", "^fragments"]);
    fs::write(sample.src().join("new"), "new").unwrap();
    let (patch, root_hash) = (sample.path("patch.erofs"), sample.path("patch.roothash"));
    let build = args!["build", "-q", "--verity", "--base", base, "--root-hash-file", root_hash];
    printed(build.into_iter().chain(args![sample.src(), patch]));
    let cat = |name: &str| lith(args!["cat", "--root-hash", root_hash, patch, name]);
    let map = json(args!["map", "--json", base, "sub/noise"]);
    let block = map["extents"][0]["physical"].as_u64().unwrap() / 4096;
    flip(&base, block * 4096 + 5);
    // What is elsewhere is read as before: nobody has read the whole base.
    assert_eq!(cat("hello").stdout, b"hello, world\n");
    let changed = complaint(&cat("sub/noise"));
    let named = format!("block {block} (at byte {}) of {}", block * 4096, base.display());
    assert!(changed.contains(&named), "{changed}");
    // With another hash tree, all bytes of the base are compared with their digest.
    flip(&base, block * 4096 + 5);
    let about = json(args!["verity", "info", "--json", base]);
    let end = about["hash_offset"].as_u64().unwrap();
    File::options().write(true).open(&base).unwrap().set_len(end).unwrap();
    printed(args!["verity", "add", "-q", "--salt", "00ff", base]);
    assert_eq!(cat("sub/noise").stdout, fs::read(sample.src().join("sub/noise")).unwrap());
    flip(&base, block * 4096 + 5);
    assert!(complaint(&cat("hello")).contains("has changed since"));
}

#[test]
fn a_mount_answers_with_an_error_where_a_block_has_changed() {
    if !mount::is_there() {
        return;
    }
    let (sample, image, root) = protected(&["-z", "none"]);
    let map = json(args!["map", "--json", image, "/sub/large"]);
    // Far from inodes, with which their neighbourhood is read.
    flip(&image, map["extents"][0]["physical"].as_u64().unwrap() + 200_000);
    let at = MountPoint::new(&sample);
    printed(args!["mount", "-q", "--root-hash", root, image, at.path()]);
    assert_eq!(fs::read(at.path().join("hello")).unwrap(), b"hello, world\n");
    let error = fs::read(at.path().join("sub/large")).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::IO.raw_os_error()));
    let passthrough = ["-o", "passthrough"].into_iter().map(Into::into);
    let verified = args!["mount", "--root-hash", root, image, at.path()].into_iter();
    assert!(complaint(&lith(verified.chain(passthrough))).contains("passthrough"));
}

#[test]
fn root_hashes_are_signed_as_openssl_and_systemd_do() {
    if !has("openssl") {
        return;
    }
    let sample = Sample::new();
    let [key, cert, other_key, other] =
        ["key.pem", "cert.pem", "other.key", "other.pem"].map(|name| sample.path(name));
    for (key, cert) in [(&key, &cert), (&other_key, &other)] {
        let new = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test", "-keyout"];
        run("openssl", new.map(Into::into).into_iter().chain(args![key, "-out", cert]));
    }
    let [image, tree, root_hash] =
        ["a.raw", "a.verity", "a.roothash"].map(|name| sample.path(name));
    let signature = sample.path("a.roothash.p7s");
    let verity = format!("--verity={}", tree.display());
    let build = args!["build", "-q", verity, "--root-hash-file", root_hash, "--sign", key];
    printed(build.into_iter().chain(args!["--cert", cert, sample.src(), image]));
    let check = |cert: &Path| {
        let words = args!["verity", "verify", "--root-hash", root_hash, "--verity", tree, image];
        lith(words.into_iter().chain(args!["--cert", cert, "--signature", signature]))
    };
    let verified = check(&cert);
    assert!(String::from_utf8_lossy(&verified.stdout).contains("verified, signed"));
    assert!(complaint(&check(&other)).contains("not valid"));
    let digits = sample.path("digits");
    fs::write(&digits, fs::read_to_string(&root_hash).unwrap().trim_end()).unwrap();
    for program in ["smime", "cms"] {
        let how = args![program, "-verify", "-binary", "-inform", "DER", "-in", signature];
        let what = args!["-content", digits, "-certfile", cert, "-nointern", "-noverify"];
        run("openssl", how.into_iter().chain(what));
    }
    // A command that signs elsewhere makes the same signature: RSA with PKCS#1 v1.5 has no random part.
    let first = fs::read(&signature).unwrap();
    let command = format!(
        "openssl cms -sign -binary -noattr -nocerts -outform DER -inkey {} -signer {}",
        key.display(),
        cert.display()
    );
    let with =
        args!["build", "-q", "--verity", "--root-hash-file", root_hash, "--sign-with", command];
    printed(with.into_iter().chain(args![sample.src(), image]));
    assert_eq!(check(&cert).status.code(), Some(0));
    assert!(!first.is_empty());
    // A failure leaves everything as it was.
    let names = sample.names();
    let old = fs::read(&image).unwrap();
    for command in ["false", "echo no signature"] {
        let with = ["build", "-q", "--verity", "--sign-with", command].map(Into::into).into_iter();
        let with = with.chain(args!["--root-hash-file", root_hash, sample.src(), image]);
        assert!(complaint(&lith(with)).contains("cannot sign the root hash"));
        assert!((sample.names(), fs::read(&image).unwrap()) == (names.clone(), old.clone()));
    }
}

#[test]
fn fsverity_digests_are_those_of_the_fsverity_tool() {
    if !has("fsverity") {
        return;
    }
    let (sample, image, _) = protected(&[]);
    let file = sample.path("file");
    let content = fs::read(&image).unwrap();
    for len in [0, 1, 4096, 4097, 128 * 4096, 128 * 4096 + 1] {
        let bytes: Vec<u8> = content.iter().copied().cycle().take(len).collect();
        fs::write(&file, bytes).unwrap();
        let theirs = run("fsverity", args!["digest", file]);
        assert_eq!(printed(args!["verity", "fsverity", file]), theirs, "{len}");
    }
}

#[test]
fn an_image_after_a_program_gets_a_tree() {
    let (sample, image) = Sample::built();
    let (file, root) = (sample.path("app.bin"), sample.path("app.roothash"));
    fs::write(&file, [&[1; 8192], &*fs::read(&image).unwrap()].concat()).unwrap();
    let at = ["--offset", "8192"];
    printed(args!["verity", "add", at[0], at[1], "--root-hash-file", root, file]);
    printed(args!["verity", "verify", at[0], at[1], "--root-hash", root, file]);
    let alone = printed(args!["verity", "add", "--json", image]);
    let described = printed(args!["verity", "info", "--json", at[0], at[1], file]);
    let line = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.contains(name)).map(str::to_owned);
        line.unwrap_or_else(|| panic!("{name}: {text}"))
    };
    assert_eq!(line(&described, "hash_offset"), line(&alone, "hash_offset"));
    assert_eq!(&fs::read(&file).unwrap()[8192..], fs::read(&image).unwrap());
    flip(&file, 8192 + 4096 + 1);
    let changed = lith(args!["verity", "verify", at[0], at[1], "--root-hash", root, file]);
    assert_eq!(changed.status.code(), Some(1));
}
