//! Defines the suite that starts programs from images that are stored in the order of a profile, on limited storage.

use super::shared::{
    CONVERT, KERNEL_SQUASHFS, at_most, series, squashfs, table, workers, writable,
};
use crate::{
    corpus::Names,
    image::{Form, Recipe, Recording},
    mount::Mount,
    results::{Metric, Target},
    storage::Storage,
    suite::{Entry, Suite, Table, Task},
};

const SHOWN: &[Metric] =
    &[Metric::Wall, Metric::MachineCpu, Metric::Fetched, Metric::Requests, Metric::Size];

/// All images are compressed alike.
const OPTIONS: &str = "--kernel 6.12 -z zstd,3 -C 65536";

/// A program that is started from its image.
struct Program {
    name: &'static str,
    title: &'static str,
    corpus: String,
    /// What starts it; `$FOLDER` is the tree.
    command: &'static str,
    /// What another profile is recorded by.
    other: Other,
}

enum Other {
    /// The same program does something else.
    Command(&'static str),
    /// An earlier version of the tree.
    Version(&'static str),
}

/// A command in the root filesystem at `$FOLDER`, whose /tmp is in memory.
macro_rules! in_root {
    ($($script:literal),+) => {
        concat!(
            r#"cd "$FOLDER" && trap 'umount tmp dev proc' EXIT && mount -t tmpfs none tmp && "#,
            r#"mount --bind /dev dev && mount -t proc none proc && "#,
            $($script),+
        )
    };
}

/// `LibreOffice` converts a short text to another format.
const CONVERT_OTHER: &str = in_root!(
    r#"echo "Some words." >tmp/other.txt && chroot "$FOLDER" env HOME=/tmp soffice --headless "#,
    r#"--convert-to odt --outdir /tmp /tmp/other.txt >/dev/null && test -s "$FOLDER/tmp/other.odt""#
);

/// A small program is compiled, linked and run.
const COMPILE: &str = in_root!(
    r#"chroot . gcc -O2 -o /tmp/lines /src/lines.c && chroot . /tmp/lines /src/lines.c >/dev/null"#
);

/// Another one, with other headers and libraries.
const COMPILE_OTHER: &str = in_root!(
    r#"chroot . gcc -O1 -g -pthread -o /tmp/threads /src/threads.c -lm && chroot . /tmp/threads >/dev/null"#
);

/// The files of a commit are written to a folder.
const CHECK_OUT: &str = in_root!(
    r#"mkdir tmp/tree && chroot . env GIT_INDEX_FILE=/tmp/index git --git-dir=/src/project.git --work-tree=/tmp/tree "#,
    r#"checkout -q master~5 -- . && test -d tmp/tree/usr"#
);

/// Those of an earlier commit.
const CHECK_OUT_OTHER: &str = in_root!(
    r#"mkdir tmp/tree && chroot . env GIT_INDEX_FILE=/tmp/index git --git-dir=/src/project.git --work-tree=/tmp/tree "#,
    r#"checkout -q master~25 -- . && test -d tmp/tree/usr"#
);

/// systemd starts a system and its services in a container.
const BOOT: &str = r#"test "$(sh "$FOLDER/boot.sh" "$FOLDER")" = started"#;

/// With some services less.
const BOOT_OTHER: &str = r#"test "$(sh "$FOLDER/boot.sh" "$FOLDER" systemd.mask=ssh.service systemd.mask=rsyslog.service)" = started"#;

/// Nothing is written, and the tree is used where it is mounted. matplotlib makes a missing folder.
const IMPORT: &str = concat!(
    r#"MPLCONFIGDIR=/dev/null/none PYTHONDONTWRITEBYTECODE=1 "$FOLDER/bin/python3" "#,
    r#"-c "import numpy, pandas, matplotlib" 2>/dev/null"#
);

/// A bundler makes one file of two modules, without writing its cache.
const BUNDLE: &str = concat!(
    r#"T=$(mktemp -d) && trap 'rm -r "$T"' EXIT && echo 'export default 1' >"$T/a.js" && "#,
    r#"echo 'import a from "./a.js"; console.log(a)' >"$T/b.js" && "$FOLDER/bin/node" -e 'require("#,
    r#"process.env.FOLDER+"/node_modules/webpack")({mode:"production",context:process.argv[1],entry:"./b.js","#,
    r#"output:{path:process.argv[1]+"/out"}},(e,s)=>process.exit(e||s.hasErrors()?1:0))' "$T" && test -s "$T/out/main.js""#
);

/// The same program without the optimizer.
const BUNDLE_OTHER: &str = concat!(
    r#"T=$(mktemp -d) && trap 'rm -r "$T"' EXIT && echo '{"a":1}' >"$T/a.json" && "#,
    r#"echo 'console.log(require("./a.json"))' >"$T/b.js" && "$FOLDER/bin/node" -e 'require("#,
    r#"process.env.FOLDER+"/node_modules/webpack")({mode:"development",context:process.argv[1],entry:"./b.js","#,
    r#"output:{path:process.argv[1]+"/out"}},(e,s)=>process.exit(e||s.hasErrors()?1:0))' "$T" && test -s "$T/out/main.js""#
);

pub(super) fn suite(corpora: &Names) -> Suite {
    let programs = [
        Program {
            name: "office",
            title: "LibreOffice converts a document",
            corpus: corpora.application.clone(),
            command: CONVERT,
            other: Other::Command(CONVERT_OTHER),
        },
        Program {
            name: "python",
            title: "Python imports numpy, pandas and matplotlib",
            corpus: "python".into(),
            command: IMPORT,
            other: Other::Version("pythonbefore"),
        },
        Program {
            name: "webpack",
            title: "Node.js bundles two modules with webpack",
            corpus: "webpack".into(),
            command: BUNDLE,
            other: Other::Command(BUNDLE_OTHER),
        },
        Program {
            name: "gcc",
            title: "gcc makes a small program",
            corpus: "toolchain".into(),
            command: COMPILE,
            other: Other::Command(COMPILE_OTHER),
        },
        Program {
            name: "git",
            title: "git writes the files of a commit",
            corpus: "toolchain".into(),
            command: CHECK_OUT,
            other: Other::Command(CHECK_OUT_OTHER),
        },
        Program {
            name: "boot",
            title: "systemd boots in a container",
            corpus: "boot".into(),
            command: BOOT,
            other: Other::Command(BOOT_OTHER),
        },
    ];
    let tables = programs
        .iter()
        .flat_map(|program| Storage::ALL.map(|storage| program.table(storage)))
        .collect();
    Suite {
        name: "profiles",
        title: "Starting programs from images with a profile, on limited storage",
        about: "What an image gains that was built by a profile of `lith record`: a program is started from it with \
                nothing in memory, the mount included, while the disk with all images is limited as an SD card or \
                eMMC is. The other profile is one of another document, or of an earlier version of the tree. \
                SquashFS has the files of the same profile as priorities.",
        tables,
    }
}

impl Program {
    fn table(&self, storage: Storage) -> Table {
        let name = format!("{}-{}", self.name, storage.name);
        let title = format!("{}, {}", self.title, storage);
        table(&name, &title, &self.corpus, (SHOWN, Metric::Wall), self.entries(storage))
    }

    fn entries(&self, storage: Storage) -> Vec<Entry> {
        let lith_by = |more: &str, order| Recipe::Ordered {
            line: lith(&format!("{more} --profile ORDER")),
            order,
        };
        let recording = |form| record(self.command, None, form);
        let other = match self.other {
            Other::Command(command) => record(command, None, Form::Profile),
            Other::Version(of) => record(self.command, Some(of), Form::Profile),
        };
        let Recipe::Command(squashed) =
            squashfs("-comp zstd -Xcompression-level 3 -b 128K -sort ORDER")
        else {
            unreachable!("it is made by a command")
        };
        let sorted = Recipe::Ordered { line: squashed, order: recording(Form::Sort) };
        let mount = || Mount::Command("lith mount -q --kernel IMAGE MOUNT".into());
        let profile = lith_by("", recording(Form::Profile));
        let heat = lith_by("--hot lz4hc,12", recording(Form::Profile));
        [
            (series::LITH, Recipe::Command(lith("")), mount()),
            (series::LITH_PROFILE, profile, mount()),
            (series::LITH_HEAT, heat, mount()),
            (series::LITH_OTHER, lith_by("", other), mount()),
            (
                series::SQUASHFS_KERNEL,
                squashfs("-comp zstd -Xcompression-level 3 -b 128K"),
                KERNEL_SQUASHFS,
            ),
            (series::SQUASHFS_SORTED, sorted, KERNEL_SQUASHFS),
            (series::EXT4, writable(series::EXT4), Mount::Kernel("ext4")),
        ]
        .map(|(series, image, mount)| {
            let (command, is_plain) = (self.command, series == series::LITH);
            let task = Task::Start { image, mount, command, storage };
            Entry {
                against: (!is_plain).then_some(series::LITH),
                targets: targets(series, storage),
                ..Entry::new(series, "", task)
            }
        })
        .into()
    }
}

/// The line of a build. Like those of its rivals, the images keep the times of files: Python compiles again whatever differs in
/// its time from what it recorded.
fn lith(more: &str) -> String {
    let workers = workers();
    format!("lith build {OPTIONS} {more} --workers {workers} -U clear SOURCE IMAGE")
}

fn record(command: &'static str, of: Option<&'static str>, form: Form) -> Recording {
    Recording { image: Box::new(Recipe::Command(lith(""))), command, of, form }
}

/// In relation to the image without a profile.
fn targets(series: &str, storage: Storage) -> Vec<Target> {
    if series != series::LITH_PROFILE {
        return Vec::new();
    }
    let mut targets = vec![at_most(Metric::Requests, 0.3), at_most(Metric::Size, 1.02)];
    if storage == Storage::SD_CARD {
        targets.push(at_most(Metric::Wall, 0.6));
    }
    if storage == Storage::UNLIMITED {
        targets.push(at_most(Metric::Wall, 1.0));
    }
    targets
}
