//! Tests `lith record`, `lith profile` and images that are built by profiles.

use std::{ffi::OsString, fs, path::Path, process::Output};

use lith_testkit::tier;

use super::{
    args,
    mount::{self, MountPoint, assert_shows},
    sample::{Sample, compressible, json, lith, printed},
};

/// The command reads the end of a file, a whole one, and a directory, and looks another file up; its exit code is 3.
const PROGRAM: &str = "tail -c 5 \"$LITH_MOUNT/sub/large\"; cat \"$LITH_MOUNT/hello\"; \
    ls \"$LITH_MOUNT/sub\"; test -f \"$LITH_MOUNT/sub/noise\" && exit 3";

fn record(how: &[&str], image: &Path, profile: &Path) -> Output {
    let start = ["record", "-q"].iter().chain(how).map(Into::into);
    let end = args!["-o", profile, image, "--", "sh", "-c", PROGRAM];
    lith(start.chain(end))
}

fn lines(profile: &Path) -> Vec<String> {
    fs::read_to_string(profile).unwrap().lines().map(str::to_owned).collect()
}

/// Asserts that a profile has what the program does, and nothing of files that it does not read.
fn assert_recorded(output: &Output, profile: &Path) {
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(3));
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(printed.ends_with("hello, world\ndeep\nhard\nlarge\nnoise\n"), "{printed}");
    let lines = lines(profile);
    assert_eq!(lines.first().unwrap(), "lith-profile 1");
    let end_of_large = lines.iter().position(|line| {
        let range = line.strip_prefix("read /sub/large ").and_then(|rest| rest.split(' ').next());
        let (start, len) = range.and_then(|range| range.split_once('+')).unwrap_or_default();
        start.parse().unwrap_or(0_u64) + len.parse().unwrap_or(0) >= 300_000
    });
    // Hard links have one inode.
    let hello = lines.iter().position(|line| {
        ["read /hello 0+13 ", "read /sub/hard 0+13 "].iter().any(|start| line.starts_with(start))
    });
    assert!(end_of_large.unwrap() < hello.unwrap(), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("list /sub ")), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.starts_with("read /sub/noise")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.starts_with("lookup /sub/noise ")), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.starts_with("lookup /sub/deep")), "{lines:#?}");
}

#[test]
fn what_a_command_reads_is_recorded_in_its_order() {
    if !mount::is_there() {
        return;
    }
    let (sample, image) = Sample::built();
    for how in [&[][..], &["--fuse"]] {
        let profile = sample.path("profile");
        assert_recorded(&record(how, &image, &profile), &profile);
    }
    let missing = lith(args!["record", "-o", sample.path("p"), image, "--", "/no/such/program"]);
    assert_eq!(missing.status.code(), Some(1));
    let at = MountPoint::new(&sample);
    let profile = sample.path("mounted.profile");
    printed(args!["mount", "--fuse", "--record", profile, image, at.path()]);
    fs::read(at.path().join("hello")).unwrap();
    printed(args!["umount", at.path()]);
    mount::wait_until("the profile is written", || lines(&profile).len() > 2);
    assert!(lines(&profile).iter().any(|line| line.contains("0+13")));
}

#[test]
fn a_profile_that_can_not_be_written_is_known_before_the_command_runs() {
    let (sample, image) = Sample::built();
    let ran = sample.path("ran");
    let touch = |output: &Path| lith(args!["record", "-o", output, image, "--", "touch", ran]);
    let refused = touch(&sample.path("missing/profile"));
    assert_eq!(refused.status.code(), Some(1));
    assert!(!ran.exists());
    if !mount::is_there() {
        return;
    }
    // A profile that is there stays if the recording fails, and no other file remains.
    let profile = sample.path("profile");
    fs::write(&profile, "old").unwrap();
    let failed = lith(args!["record", "-o", profile, image, "--", "/no/such/program"]);
    assert_eq!(failed.status.code(), Some(1));
    assert_eq!(fs::read(&profile).unwrap(), b"old");
    let names = || fs::read_dir(profile.parent().unwrap()).unwrap().count();
    let before = names();
    assert_eq!(touch(&profile).status.code(), Some(0));
    assert!(ran.exists());
    assert_eq!(lines(&profile).first().unwrap(), "lith-profile 1");
    assert_eq!(names(), before + 1);
}

/// Containers have an overlay on top of an image, which opens files of it without an event.
#[test]
fn what_is_read_through_an_overlay_is_recorded() {
    if !mount::is_there() || !rustix::process::geteuid().is_root() {
        return;
    }
    let (sample, image) = Sample::built();
    let (profile, above) = (sample.path("profile"), sample.path("above"));
    fs::create_dir(&above).unwrap();
    let script = format!(
        "set -e; mount -t tmpfs none '{0}'; cd '{0}'; mkdir upper work all; \
         mount -t overlay none -o lowerdir=\"$LITH_MOUNT\",upperdir=upper,workdir=work all; \
         tail -c 5 all/sub/large; cat all/hello; test -f all/sub/noise",
        above.display()
    );
    let words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", &script];
    let how = args!["record", "-q", "-o", profile, image, "--"].into_iter();
    let output = lith(how.chain(words.map(OsString::from)));
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("unknown filesystem type") {
        tier::skip("records through an overlay", errors.trim_end());
        return;
    }
    assert!(output.status.success(), "{output:?}");
    let lines = lines(&profile);
    let at = |start: &str| lines.iter().position(|line| line.starts_with(start));
    let large = at("read /sub/large ").expect("large was read");
    let hello = at("read /hello 0+13 ").or_else(|| at("read /sub/hard 0+13 "));
    assert!(large < hello.expect("hello was read"), "{lines:#?}");
    assert_eq!(at("read /sub/noise"), None, "{lines:#?}");
    assert!(at("lookup /sub/noise ").is_some(), "{lines:#?}");
    tier::ran("records through an overlay");
}

#[test]
fn a_folder_is_watched() {
    if !mount::is_there() || !rustix::process::geteuid().is_root() {
        return;
    }
    let sample = Sample::new();
    let profile = sample.path("profile");
    let program = "cat \"$LITH_MOUNT/hello\" > /dev/null; ls \"$LITH_MOUNT/sub\" > /dev/null";
    let output = lith(args![
        "record",
        "-q",
        "-o",
        profile,
        "--mount",
        sample.src(),
        "--",
        "sh",
        "-c",
        program
    ]);
    assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stderr)), (Some(0), ""));
    let lines = lines(&profile);
    for wanted in ["lookup /hello ", "read /hello 0+13 ", "list /sub "] {
        assert!(lines.iter().any(|line| line.starts_with(wanted)), "{wanted}: {lines:#?}");
    }
}

#[test]
fn an_image_is_built_by_profiles_and_says_so() {
    let sample = Sample::new();
    let (profile, other) = (sample.path("a.profile"), sample.path("b.profile"));
    let text = "lith-profile 1\nread /sub/large 100000+50000 1 1\nread /gone 0+1 2 1\n";
    fs::write(&profile, text).unwrap();
    fs::write(&other, "lith-profile 1\nread /hello 0+13 1 1\nlist /sub - 2 1\n").unwrap();
    let merged = sample.path("merged.profile");
    printed(args!["profile", "merge", "-o", merged, profile, format!("{}=3", other.display())]);
    assert_eq!(lines(&merged).len(), 2 + 4);
    let (plain, image) = (sample.path("plain.erofs"), sample.path("image.erofs"));
    printed(args!["build", "-q", sample.src(), plain]);
    let built = lith(args!["build", "--profile", merged, sample.src(), image]);
    assert_eq!(built.status.code(), Some(0));
    let told = String::from_utf8_lossy(&built.stderr).into_owned();
    assert!(told.contains("/gone of the profile is not in the source"), "{told}");
    assert_eq!(printed(args!["diff", sample.src(), image]), "");
    let first = &json(args!["info", "--json", image])["read_first"];
    assert_eq!(first[0]["start"], 4096, "{first}");
    assert!(printed(args!["info", image]).contains("read first  "));
    assert!(!printed(args!["info", plain]).contains("read first"));
    let extents = printed(args!["map", image, "/sub/large"]);
    let is_first = |line: &str| line.contains("   98304..") && line.contains("    4096..");
    assert!(extents.lines().any(is_first), "{extents}");
    let text = printed(args!["profile", "show", plain, merged, "--beside", image]);
    assert!(text.contains("with read-ahead: requests") && text.contains("1 path "), "{text}");
    let sort = sample.path("sort");
    fs::write(&sort, "sub/large -1\n*.none 5\n").unwrap();
    let sorted = sample.path("sorted.erofs");
    printed(args!["build", "-q", "--sort", sort, sample.src(), sorted]);
    assert_eq!(printed(args!["diff", sample.src(), sorted]), "");
    let list = sample.path("list");
    fs::write(&list, "/hello\n").unwrap();
    printed(args!["build", "-q", "--order", list, sample.src(), sorted]);
    assert!(printed(args!["info", sorted]).contains("read first  "));
}

#[test]
fn an_image_is_read_ahead_or_not() {
    if !mount::is_there() {
        return;
    }
    let sample = Sample::new();
    let (list, image) = (sample.path("list"), sample.path("image.erofs"));
    fs::write(&list, "/hello\n/sub/large\n").unwrap();
    printed(args!["build", "-q", "--order", list, sample.src(), image]);
    for prefetch in ["auto", "none", "hot", "all"] {
        for how in [&["--fuse"][..], &[]] {
            let at = MountPoint::new(&sample);
            let start = ["mount", "-q"].iter().chain(how).map(Into::into);
            let mounted = lith(start.chain(args!["--prefetch", prefetch, image, at.path()]));
            assert_eq!(mounted.status.code(), Some(0), "{prefetch} {how:?}");
            assert_shows(&at, &sample);
            drop(at);
            fs::remove_dir(sample.path("mnt")).unwrap();
        }
    }
}

#[test]
fn hot_and_cold_files_have_algorithms_of_their_own() {
    let sample = Sample::new();
    let (list, image) = (sample.path("list"), sample.path("image.erofs"));
    fs::write(&list, "/sub/large\n").unwrap();
    fs::write(sample.src().join("sub/cold"), compressible(200_000)).unwrap();
    let heat = args!["--hot", "lz4hc,9,pcluster=16K", "--cold", "zstd,3"];
    let order = args!["--kernel", "6.12", "--order", list];
    let build = |more: Vec<OsString>| {
        let start = args!["build", "-q", "-E", "^fragments"].into_iter();
        lith(start.chain(more).chain(args![sample.src(), image]))
    };
    let output = build([&order[..], &heat].concat());
    assert_eq!((output.status.code(), &*output.stderr), (Some(0), &b""[..]));
    assert_eq!(printed(args!["diff", sample.src(), image]), "");
    let hot = printed(args!["map", image, "/sub/large"]);
    assert!(hot.contains("lz4") && !hot.contains("zstd"), "{hot}");
    let cold = printed(args!["map", image, "/sub/cold"]);
    assert!(cold.contains("zstd") && !cold.contains("lz4"), "{cold}");
    for (arguments, found) in [
        (heat.to_vec(), "--hot has no meaning"),
        ([&order[..], &args!["--cold", "zstd,3"]].concat(), "--hot"),
        ([&order[..], &heat, &args!["-z", "lz4"]].concat(), "cannot be used with"),
        ([&order[..], &args!["--hot", "lzo"]].concat(), "lzo"),
    ] {
        let refused = build(arguments);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && said.contains(found), "{said}");
    }
}

#[test]
fn a_file_has_the_algorithms_of_its_hot_and_cold_ranges() {
    let sample = Sample::new();
    let (profile, image) = (sample.path("profile"), sample.path("image.erofs"));
    fs::write(&profile, "lith-profile 1\nread /sub/large 100000+50000 1 1\n").unwrap();
    for (hot, name) in [("lz4hc,9,pcluster=16K", "lz4"), ("none", "plain")] {
        let heat = args!["--kernel", "6.12", "--profile", profile, "--hot", hot];
        let cold = args!["--cold", "zstd,3", "-E", "^fragments", sample.src(), image];
        printed(args!["build", "-q"].into_iter().chain(heat).chain(cold));
        assert_eq!(printed(args!["diff", sample.src(), image]), "");
        let extents = printed(args!["map", image, "/sub/large"]);
        assert!(extents.contains(name) && extents.contains("zstd"), "{hot}: {extents}");
        if mount::is_there() {
            let at = MountPoint::new(&sample);
            printed(args!["mount", "-q", image, at.path()]);
            assert_shows(&at, &sample);
            drop(at);
            fs::remove_dir(sample.path("mnt")).unwrap();
        }
    }
    let page = sample.path("page.html");
    printed(args!["report", "-q", "--no-presets", "--profile", profile, "-o", page, image]);
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("What is read first") && page.contains("<polyline points="), "{page}");
}

#[test]
fn the_order_of_an_earlier_image_is_kept_without_referring_to_it() {
    let sample = Sample::new();
    let (old, image) = (sample.path("old.erofs"), sample.path("image.erofs"));
    printed(args!["build", "-q", sample.src(), old]);
    fs::write(sample.src().join("sub/another"), compressible(50_000)).unwrap();
    let keep = args!["build", "-q", "--append-stable"];
    printed(keep.clone().into_iter().chain(args!["--base", old, sample.src(), image]));
    assert_eq!(printed(args!["diff", sample.src(), image]), "");
    fs::remove_file(&old).unwrap();
    assert_eq!(printed(args!["check", "-q", image]), "");
    for (bases, found) in
        [(vec![], "--base"), (args!["--base", image, "--base", image].to_vec(), "one --base")]
    {
        let refused = lith(keep.clone().into_iter().chain(bases).chain(args![sample.src(), old]));
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && said.contains(found), "{said}");
    }
}
