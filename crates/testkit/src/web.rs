//! A web server on the loopback address whose answers a test decides.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    ops::Range,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// The largest body of a request.
const BODY: usize = 64 << 20;

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Its method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// What it brings; of more than 64 MiB nothing.
    pub body: Vec<u8>,
    /// Whether the connection ended before the body did.
    pub is_cut: bool,
}

/// An answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Its status.
    pub status: u16,
    /// Its headers; without `Content-Length`, the body ends with the connection.
    pub headers: Vec<(&'static str, String)>,
    /// Its body.
    pub body: Vec<u8>,
    /// Close the connection after so many bytes of the body.
    pub cut: Option<usize>,
    /// Wait before it is sent.
    pub delay: Duration,
    /// Send so many bytes of the body at once, and wait after them; `None`: all of them.
    pub drip: Option<(usize, Duration)>,
}

/// What decides about answers.
type Answer = dyn Fn(&Request) -> Reply + Send + Sync;

/// A running server.
pub struct Web {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    answer: Box<Answer>,
    requests: Mutex<Vec<Request>>,
    stopped: AtomicBool,
}

impl Request {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| &**value)
    }

    /// The requested bytes.
    #[must_use]
    pub fn range(&self) -> Option<Range<usize>> {
        let (first, last) = self.header("range")?.strip_prefix("bytes=")?.split_once('-')?;
        Some(first.parse().ok()?..last.parse::<usize>().ok()?.checked_add(1)?)
    }
}

impl Reply {
    /// An answer without a body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        let headers = vec![("content-length", "0".to_owned())];
        let (body, delay) = (Vec::new(), Duration::ZERO);
        Self { status, headers, body, cut: None, delay, drip: None }
    }

    /// A redirection.
    #[must_use]
    pub fn redirect(to: &str) -> Self {
        Self::status(302).with("location", to)
    }

    /// What a good server answers for an object with this `ETag`.
    #[must_use]
    pub fn of(request: &Request, object: &[u8], etag: &str) -> Self {
        if request.header("if-match").is_some_and(|wanted| wanted != etag) {
            return Self::status(412);
        }
        let Some(range) = request.range() else {
            return Self { body: object.to_vec(), ..Self::status(200) }.measured();
        };
        let end = range.end.min(object.len());
        let body = object.get(range.start..end).filter(|body| !body.is_empty());
        let Some(body) = body else { return Self::status(416) };
        let content = format!("bytes {}-{}/{}", range.start, end.saturating_sub(1), object.len());
        let reply = Self { body: body.to_vec(), ..Self::status(206) };
        reply.measured().with("content-range", &content).with("etag", etag)
    }

    /// The same with a header, in place of one of this name.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self.headers.push((name, value.to_owned()));
        self
    }

    fn measured(self) -> Self {
        let length = self.body.len().to_string();
        self.with("content-length", &length)
    }

    /// The same with a body of a type.
    #[must_use]
    pub fn holding(mut self, kind: &str, body: Vec<u8>) -> Self {
        self.body = body;
        self.measured().with("content-type", kind)
    }

    fn write(&self, stream: &mut TcpStream, is_head: bool) -> io::Result<()> {
        thread::sleep(self.delay);
        let mut head = format!("HTTP/1.1 {} Status\r\n", self.status);
        for (name, value) in &self.headers {
            head += &[name, ": ", value, "\r\n"].concat();
        }
        stream.write_all((head + "\r\n").as_bytes())?;
        if is_head {
            return Ok(());
        }
        let sent = self.cut.unwrap_or(self.body.len()).min(self.body.len());
        let (step, pause) = self.drip.unwrap_or((usize::MAX, Duration::ZERO));
        for bytes in self.body.get(..sent).unwrap_or_default().chunks(step) {
            stream.write_all(bytes)?;
            thread::sleep(pause);
        }
        if self.cut.is_some() {
            stream.shutdown(Shutdown::Both)?;
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }
}

impl Web {
    /// Starts a server.
    ///
    /// # Panics
    /// If there is no port for it.
    #[must_use]
    pub fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback address has a port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let (requests, stopped) = (Mutex::default(), AtomicBool::new(false));
        let shared = Arc::new(Shared { answer: Box::new(answer), requests, stopped });
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if of_thread.stopped.load(Ordering::Relaxed) {
                    break;
                }
                let shared = Arc::clone(&of_thread);
                // Clients close connections as they like.
                thread::spawn(move || shared.serve(stream));
            }
        });
        Self { address, shared }
    }

    /// Serves an object at any path.
    #[must_use]
    pub fn of(object: Vec<u8>) -> Self {
        Self::start(move |request| Reply::of(request, &object, "\"1\""))
    }

    /// An address on it.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    /// What was requested so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Refuses further connections, and answers nothing on those that there are.
    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        while let Some(request) = read_request(&mut reader)? {
            if self.stopped.load(Ordering::Relaxed) {
                return stream.shutdown(Shutdown::Both);
            }
            self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
            (self.answer)(&request).write(&mut stream, request.method == "HEAD")?;
        }
        Ok(())
    }
}

/// Reads a request; `None`: the client has closed the connection.
fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.by_ref().take(1 << 16).read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.by_ref().take(1 << 16).read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Request { method, path, headers, body: Vec::new(), is_cut: false };
    let length = request.header("content-length").and_then(|length| length.parse().ok());
    if let Some(length @ 0..=BODY) = length {
        // What arrived stays, however the connection ends.
        let read = reader.by_ref().take(length as u64).read_to_end(&mut request.body);
        request.is_cut = read.is_err() || request.body.len() < length;
    }
    Ok(Some(request))
}
