//! Defines [`Sandbox`], which takes from a server what it doesn't need, before it reads the first byte of an image.
//!
//! No program that it could start gains rights (`no_new_privs`), only the named files and directories can be opened
//! (Landlock), and only the system calls that serving takes are answered (seccomp). What is open already stays usable. A
//! process in it can't unmount: see [`Agent`](crate::Agent).

use std::{
    collections::BTreeMap,
    env, io,
    path::{Path, PathBuf},
};

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus,
};
use rustix::thread::set_no_new_privs;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompFilter, TargetArch, apply_filter, apply_filter_all_threads,
};

use crate::calls;

/// What is requested of Landlock; an older kernel restricts as much of it as it knows.
const LANDLOCK: ABI = ABI::V5;

/// What resolving host names and verifying certificates reads.
const OF_NETWORKS: [&str; 7] = [
    "/etc",
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/share",
    "/usr/local/share",
    "/run/systemd/resolve",
];

/// Devices that servers open.
const DEVICES: [&str; 2] = ["/dev/fuse", "/dev/null"];

/// What a server still needs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Sandbox {
    /// Files, and directories with all below, that are read.
    pub read: Vec<PathBuf>,
    /// Directories in which files are made and written.
    pub write: Vec<PathBuf>,
    /// Whether it connects to other machines.
    pub network: bool,
}

/// What the kernel has enforced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Enforced {
    /// Whether only the named files can be opened; false if the kernel has no Landlock.
    pub files: bool,
    /// Whether only some system calls are answered; false on an architecture without a list of them.
    pub calls: bool,
}

impl Sandbox {
    /// Confines the calling thread and those that it starts to what is opened now, and to what is named.
    ///
    /// # Errors
    /// Those of the kernel. What is not there on this kernel or architecture is no error.
    pub fn enter_thread(&self) -> io::Result<Enforced> {
        self.enter_by(|program| apply_filter(program))
    }

    /// As [`enter_thread`](Self::enter_thread); the list of system calls counts for threads that run already, too.
    ///
    /// # Errors
    /// As [`enter_thread`](Self::enter_thread).
    pub fn enter(&self) -> io::Result<Enforced> {
        self.enter_by(|program| apply_filter_all_threads(program))
    }

    fn enter_by(
        &self,
        apply: impl FnOnce(&BpfProgram) -> Result<(), seccompiler::Error>,
    ) -> io::Result<Enforced> {
        set_no_new_privs(true)?;
        let files = self.restrict_files().map_err(io::Error::other)?;
        let Ok(architecture) = TargetArch::try_from(env::consts::ARCH) else {
            return Ok(Enforced { files, calls: false });
        };
        let program = self.program(architecture).map_err(io::Error::other)?;
        match apply(&program) {
            Ok(()) => Ok(Enforced { files, calls: true }),
            // A kernel without seccomp.
            Err(seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error))
                if error.raw_os_error() == Some(rustix::io::Errno::INVAL.raw_os_error()) =>
            {
                Ok(Enforced { files, calls: false })
            }
            Err(error) => Err(io::Error::other(error)),
        }
    }

    /// Leaves only the named files and directories to be opened.
    fn restrict_files(&self) -> Result<bool, landlock::RulesetError> {
        let all = AccessFs::from_all(LANDLOCK);
        let ruleset = Ruleset::default().set_compatibility(CompatLevel::BestEffort);
        let mut created = ruleset.handle_access(all)?.create()?;
        let reading = AccessFs::ReadFile | AccessFs::ReadDir | AccessFs::IoctlDev;
        let writing = all & !AccessFs::Execute;
        let devices = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        let network = if self.network { &OF_NETWORKS[..] } else { &[] };
        let certificates = ["SSL_CERT_FILE", "SSL_CERT_DIR"].map(env::var_os);
        let certificates = certificates.into_iter().flatten().filter(|_| self.network);
        let certificates: Vec<_> = certificates.map(PathBuf::from).collect();
        let named = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let rules = [
            (self.read.clone(), reading),
            (self.write.clone(), writing),
            (named(&DEVICES), devices),
            (named(network), reading),
            (certificates, reading),
        ];
        for (paths, access) in rules {
            for path in paths {
                if let Some(rule) = rule(&path, access) {
                    created = created.add_rule(rule)?;
                }
            }
        }
        let status = created.restrict_self()?;
        Ok(status.ruleset != RulesetStatus::NotEnforced)
    }

    /// The list of system calls. Others fail with EPERM, which programs expect of containers.
    fn program(&self, architecture: TargetArch) -> Result<BpfProgram, seccompiler::BackendError> {
        let network = if self.network { calls::OF_NETWORKS } else { &[] };
        let allowed = calls::ALWAYS.iter().chain(network);
        let rules: BTreeMap<i64, _> = allowed.map(|call| (*call, Vec::new())).collect();
        let refused = SeccompAction::Errno(rustix::io::Errno::PERM.raw_os_error().unsigned_abs());
        SeccompFilter::new(rules, refused, SeccompAction::Allow, architecture)?.try_into()
    }
}

/// The rule for a path, with the rights that a file of its type can have; `None`: there is nothing at the path.
fn rule(path: &Path, access: BitFlags<AccessFs>) -> Option<PathBeneath<PathFd>> {
    let is_folder = path.metadata().ok()?.is_dir();
    let access = if is_folder { access } else { access & AccessFs::from_file(LANDLOCK) };
    Some(PathBeneath::new(PathFd::new(path).ok()?, access))
}
