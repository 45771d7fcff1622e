//! Servers of other projects in processes of their own, on the loopback address.

use std::{
    env,
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::tier;

/// How long a server may take until it answers; one in JavaScript loads hundreds of files first.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that tests start if it is installed.
pub struct Program {
    /// The tier of the tests that need it.
    pub tier: &'static str,
    /// The variable that names the program.
    pub variable: &'static str,
    /// The variable that names the folder into which a script installs it.
    pub folder_variable: &'static str,
    /// That folder's name among the user's caches.
    pub folder: &'static str,
    /// The program in that folder; its last component is searched in the `PATH`.
    pub program: &'static str,
    /// The script.
    pub script: &'static str,
}

/// A running server, which ends with this value.
pub struct Server {
    child: Child,
    /// Its host and port.
    pub host: String,
}

impl Program {
    /// Where the program is.
    fn find(&self) -> Option<PathBuf> {
        let variable = |name| env::var_os(name).map(PathBuf::from);
        let caches =
            || variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
        let own = variable(self.folder_variable).or_else(|| Some(caches()?.join(self.folder)));
        let own = own.map(|own| own.join(self.program));
        let name = self.program.rsplit('/').next().unwrap_or_default();
        let path = env::var_os("PATH").unwrap_or_default();
        let folders: Vec<_> = env::split_paths(&path).collect();
        let found = folders.into_iter().map(|folder| folder.join(name));
        variable(self.variable).into_iter().chain(own).chain(found).find(|path| path.is_file())
    }

    /// Starts the program on a free port, with the arguments that `prepare` adds for a host and port. `None`: it is not installed,
    /// which is reported.
    #[must_use]
    pub fn start(&self, prepare: impl FnOnce(&mut Command, &str)) -> Option<Server> {
        let Some(program) = self.find() else {
            let (name, script) = (self.program, self.script);
            tier::skip(
                self.tier,
                format!("no {name} at ${}, by {script}, or in the PATH", self.variable),
            );
            return None;
        };
        let host = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let mut command = Command::new(program);
        prepare(&mut command, &host);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut server = Server { child: command.spawn().unwrap(), host };
        server.wait();
        tier::ran(self.tier);
        Some(server)
    }
}

impl Server {
    /// Waits until it answers.
    fn wait(&mut self) {
        let begin = Instant::now();
        while TcpStream::connect(&self.host).is_err() {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("the server ended: {status}");
            }
            assert!(begin.elapsed() < PATIENCE, "the server doesn't answer");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends an object by `PUT`, with these headers, to a server that takes it.
pub(crate) fn put(url: &str, headers: &[(&str, String)], body: &[u8]) {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let request =
        headers.iter().fold(agent.put(url), |request, (name, value)| request.header(*name, value));
    let mut response = request.send(body).unwrap();
    let status = response.status();
    let body = response.body_mut().read_to_string().unwrap_or_default();
    assert!(status.is_success(), "{status}: {body}");
}
