//! A proxy on the loopback address that cuts off connections while requests are sent. Defines [`Cutting`].

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

/// A proxy that forwards connections to a server.
pub struct Cutting {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    server: String,
    /// Bytes of requests that a connection may send before it is cut off.
    allowed: usize,
    /// Connections that are still to be cut off.
    left: AtomicUsize,
    /// Bytes of requests so far.
    forwarded: AtomicUsize,
    stopped: AtomicBool,
    /// Held from a cut until the server has noticed it: new connections wait for that.
    noticing: Mutex<()>,
}

impl Cutting {
    /// Starts a proxy of the server at `HOST:PORT`, which cuts off so many connections, each as soon as it has sent more than
    /// `allowed` bytes.
    ///
    /// # Panics
    /// If there is no port for it.
    #[must_use]
    pub fn start(server: &str, allowed: usize, times: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback address has a port");
        let address = listener.local_addr().expect("a bound socket has an address");
        let shared = Arc::new(Shared {
            server: server.to_owned(),
            allowed,
            left: AtomicUsize::new(times),
            forwarded: AtomicUsize::new(0),
            stopped: AtomicBool::new(false),
            noticing: Mutex::new(()),
        });
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if of_thread.stopped.load(Ordering::Relaxed) {
                    break;
                }
                let shared = Arc::clone(&of_thread);
                thread::spawn(move || shared.forward(client));
            }
        });
        Self { address, shared }
    }

    /// Its host and port.
    #[must_use]
    pub fn host(&self) -> String {
        self.address.to_string()
    }

    /// How many connections are still to be cut off.
    #[must_use]
    pub fn left(&self) -> usize {
        self.shared.left.load(Ordering::Relaxed)
    }

    /// How many bytes of requests were forwarded.
    #[must_use]
    pub fn forwarded(&self) -> u64 {
        self.shared.forwarded.load(Ordering::Relaxed) as u64
    }
}

impl Drop for Cutting {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn forward(&self, mut client: TcpStream) -> io::Result<()> {
        drop(self.noticing.lock().unwrap_or_else(PoisonError::into_inner));
        let mut server = TcpStream::connect(&self.server)?;
        let (mut answers, mut back) = (server.try_clone()?, client.try_clone()?);
        let answering = thread::spawn(move || {
            let _ = io::copy(&mut answers, &mut back);
            let _ = back.shutdown(Shutdown::Both);
            // Until the server has ended the connection, too.
            let _ = io::copy(&mut answers, &mut io::sink());
        });
        let (mut buffer, mut sent) = (vec![0; 64 << 10], 0);
        loop {
            let got = client.read(&mut buffer)?;
            sent += got;
            self.forwarded.fetch_add(got, Ordering::Relaxed);
            if got > 0 {
                server.write_all(buffer.get(..got).unwrap_or_default())?;
            }
            let take = |left: usize| left.checked_sub(1);
            let is_cut = sent > self.allowed
                && self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok();
            if is_cut {
                let _noticing = self.noticing.lock().unwrap_or_else(PoisonError::into_inner);
                let cut = client.shutdown(Shutdown::Both);
                // What was sent arrives, and no more.
                server.shutdown(Shutdown::Write)?;
                let _ended = answering.join();
                return cut;
            }
            if got == 0 {
                return server.shutdown(Shutdown::Both);
            }
        }
    }
}
