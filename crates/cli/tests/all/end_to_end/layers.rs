//! Tests `lith build --layers`: images of the layers of a container image, and one that refers to them.

use std::{
    fmt::Write,
    fs::{self, File},
    path::PathBuf,
    process::Command,
};

use lith_testkit::{
    registry::{Demand, Registry, digest},
    tier,
};

use super::{
    args,
    registry::{gzip, printed, program, put_container, run, tar_of},
    sample::Sample,
};

const TIER: &str = "overlayfs of the kernel";

/// A container image of three layers, and its name.
fn container(sample: &Sample) -> (Registry, String) {
    let server = Registry::start(Demand::Nothing);
    let folders = ["upper", "top"].map(|name| sample.path(name));
    for folder in &folders {
        fs::create_dir_all(folder.join("sub")).unwrap();
    }
    // A file that is removed, one that is replaced, and a directory that hides what is below.
    fs::write(folders[0].join("sub/.wh.noise"), "").unwrap();
    fs::write(folders[0].join("hello"), "another\n").unwrap();
    fs::create_dir(folders[0].join("added")).unwrap();
    fs::write(folders[0].join("added/gone"), "gone\n").unwrap();
    fs::create_dir(folders[1].join("added")).unwrap();
    fs::write(folders[1].join("added/.wh..wh..opq"), "").unwrap();
    fs::write(folders[1].join("added/kept"), "kept\n").unwrap();
    let tars = [tar_of(&sample.src()), tar_of(&folders[0]), tar_of(&folders[1])];
    let diff_ids = tars.each_ref().map(|tar| digest(tar));
    put_container(&server, &[gzip(&tars[0]), tars[1].clone(), gzip(&tars[2])], &diff_ids);
    let name = format!("docker://{}/box:1", server.host());
    (server, name)
}

#[test]
fn layers_become_images_and_one_that_refers_to_them() {
    let sample = Sample::new();
    let (_server, name) = container(&sample);
    let folder = sample.path("images");
    let platform = ["--platform", "linux/amd64"];
    printed(&sample, args!["build", "-q", "--layers", platform[0], platform[1], name, folder]);
    let mut names: Vec<_> =
        fs::read_dir(&folder).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["layer1.erofs", "layer2.erofs", "layer3.erofs", "merged.erofs"]);
    let image = |name: &str| folder.join(format!("{name}.erofs"));
    for name in ["layer1", "layer2", "layer3", "merged"] {
        assert!(run(&sample, args!["check", image(name)]).status.success(), "{name}");
    }
    let whole = sample.path("whole.erofs");
    printed(&sample, args!["build", "-q", platform[0], platform[1], name, whole]);
    assert_eq!(printed(&sample, args!["diff", whole, image("merged")]), "");
    assert_eq!(printed(&sample, args!["diff", sample.src(), image("layer1")]), "");
    assert_eq!(printed(&sample, args!["cat", image("merged"), "/hello"]), "another\n");
    assert_eq!(run(&sample, args!["stat", image("merged"), "/sub/noise"]).status.code(), Some(1));
    let hidden = printed(&sample, args!["stat", image("layer2"), "/sub/noise"]);
    assert!(hidden.contains("character device"), "{hidden}");
    // What refers to the layers holds metadata only.
    let length = |name: &str| image(name).metadata().unwrap().len();
    assert!(length("merged") < length("layer1") / 2, "{} bytes", length("merged"));
    as_the_kernel_has_them(&sample, &[3, 2, 1].map(|n| image(&format!("layer{n}"))));
    // Again, with the same bytes.
    let before = fs::read(image("merged")).unwrap();
    printed(&sample, args!["build", "-q", "--layers", platform[0], platform[1], name, folder]);
    assert!(fs::read(image("merged")).unwrap() == before);
    let refused = run(&sample, args!["build", "--layers", sample.src(), folder]);
    let reason = String::from_utf8_lossy(&refused.stderr);
    assert!(reason.starts_with("error: --layers takes one container image"), "{reason}");
}

/// Mounts the layers, the topmost first, and compares what overlayfs shows of them with the image that refers to them.
fn as_the_kernel_has_them(sample: &Sample, layers: &[PathBuf]) {
    if let Err(reason) = tier::can_mount() {
        tier::skip(TIER, reason);
        return;
    }
    let mut script = String::from("set -e\n");
    let mut lower = Vec::new();
    for (number, layer) in layers.iter().enumerate() {
        let at = sample.path(&format!("lower{number}"));
        fs::create_dir(&at).unwrap();
        writeln!(script, "mount -t erofs -o ro '{}' '{}'", layer.display(), at.display()).unwrap();
        lower.push(at.display().to_string());
    }
    let at = sample.path("overlay");
    fs::create_dir(&at).unwrap();
    let (lower, at_text) = (lower.join(":"), at.display());
    writeln!(script, "mount -t overlay -o ro,lowerdir={lower} none '{at_text}'").unwrap();
    script += "exec \"$@\"\n";
    // The mounts end with their namespace.
    let merged = layers.first().unwrap().with_file_name("merged.erofs");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script, "sh"]);
    command.arg(program(sample).get_program()).args(args!["diff", at, merged]);
    let output = command.stdin(File::open("/dev/null").unwrap()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("unknown filesystem type") {
        tier::skip(TIER, errors.trim_end());
        return;
    }
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
    tier::ran(TIER);
}
