//! Makes the files for conformance tests, and runs both programs on them.

use std::{
    ffi::OsStr,
    fs::{self, File},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use lith::source::Source;
use lith_testkit::{image, oracle::tools::Tools, place};
use tempfile::TempDir;

/// Rules for labels: several for the same file, for file types, without a label, and with all forms of expressions.
const CONTEXTS: &str = "# labels
/.* u:object_r:rootfs:s0
/system(/.*)? u:object_r:system_file:s0
/system/sub/.*\\.bin -- u:object_r:binary:s0
/system/sub/[a-e]+(/.*)? u:object_r:deep:s0
/system/sub/deep -d u:object_r:deep_folder:s0
/system/(link|linked) -l u:object_r:link:s0
/system/noise <<none>>
/system/text u:object_r:text:s0
/system/te.t u:object_r:not_this:s0
";

/// A directory with a tree, a tar of it, and the files that options name.
pub(crate) struct Bed {
    pub(crate) tools: Tools,
    folder: TempDir,
}

impl Bed {
    /// `None`: erofs-utils is missing or too old for the options.
    pub(crate) fn new() -> Option<Self> {
        let tools = Tools::find().filter(|tools| tools.version >= (1, 9))?;
        let bed = Self { tools, folder: place::folder() };
        bed.plant();
        Some(bed)
    }

    fn plant(&self) {
        let tree = self.path("tree");
        fs::create_dir_all(tree.join("sub/deep")).unwrap();
        fs::create_dir(tree.join("empty")).unwrap();
        let text =
            "all the world's a stage, and all the men and women merely players\n".repeat(9000);
        fs::write(tree.join("text"), &text).unwrap();
        fs::write(tree.join("sub/same"), &text).unwrap();
        fs::write(tree.join("sub/half.bin"), &text.as_bytes()[..5000]).unwrap();
        fs::write(tree.join("sub/deep/small.o"), "few bytes").unwrap();
        fs::write(tree.join("nothing"), "").unwrap();
        let noise: Vec<u8> =
            (0..40_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
        fs::write(tree.join("noise"), noise).unwrap();
        fs::hard_link(tree.join("text"), tree.join("linked")).unwrap();
        symlink("sub/deep/small.o", tree.join("link")).unwrap();
        fs::write(self.path("hints"), "16384 bin$\n0 ^sub/deep\n").unwrap();
        fs::write(self.path("contexts"), CONTEXTS).unwrap();
        for (folder, tar) in [("tree", "tree.tar"), ("tree/sub", "sub.tar")] {
            self.shell(&format!(
                "tar --format=pax --owner=3 --group=4 --mtime=@1000000 -C {folder} -cf {tar} ."
            ));
        }
        self.shell("gzip -k tree.tar; xz -k tree.tar; cp -a tree other; echo more > other/more");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn shell(&self, script: &str) {
        let done =
            Command::new("sh").arg("-ec").arg(script).current_dir(self.folder.path()).status();
        assert!(done.unwrap().success(), "{script}");
    }

    /// Runs our program under the name `tool`, with a file as its input.
    pub(crate) fn ours(&self, tool: &str, arguments: &[&str], input: Option<&str>) -> Output {
        let stdin =
            input.map_or_else(Stdio::null, |name| File::open(self.path(name)).unwrap().into());
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("lith"));
        command.env_remove("SOURCE_DATE_EPOCH").current_dir(self.folder.path());
        command.arg(tool).args(arguments).stdin(stdin).output().unwrap()
    }

    /// Runs the program of erofs-utils.
    pub(crate) fn theirs(&self, tool: &str, arguments: &[&str]) -> Output {
        let arguments: Vec<_> = arguments.iter().map(OsStr::new).collect();
        self.tools.run(self.folder.path(), tool, &arguments)
    }

    /// Opens an image that starts at `offset` of its file as a source.
    pub(crate) fn open_at(&self, image: &str, offset: Option<u64>) -> Source {
        let bytes = fs::read(self.path(image)).unwrap();
        let start = usize::try_from(offset.unwrap_or(0)).unwrap();
        image::open_bytes(bytes[start..].to_vec())
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}
