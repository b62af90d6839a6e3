//! TLS by rustls over our sockets, through futures-rustls, with a certificate made for the test.

use crate::kit::{for_sockets, guarded};
use futures_rustls::pki_types::{PrivateKeyDer, ServerName};
use futures_rustls::rustls::{ClientConfig, RootCertStore, ServerConfig};
use futures_rustls::{TlsAcceptor, TlsConnector, client, server};
use ropewalk::compat::hyper::Io;
use ropewalk::io::{self, AsyncReadExt, AsyncWriteExt};
use ropewalk::net::{TcpListener, TcpStream};
use ropewalk_compat_tests::{PROTOCOLS, pattern, serve, shake_hands, whole};
use std::sync::Arc;

const NAME: &str = "ropewalk.test";

struct Tls {
    acceptor: TlsAcceptor,
    connector: TlsConnector,
    /// Knows no certificate.
    stranger: TlsConnector,
}

fn tls() -> Tls {
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let certificate = made.cert.der().clone();
    let server = ServerConfig::builder().with_no_client_auth();
    let server = server.with_single_cert(vec![certificate.clone()], key).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let client = |roots| ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    Tls {
        acceptor: Arc::new(server).into(),
        connector: Arc::new(client(roots)).into(),
        stranger: Arc::new(client(RootCertStore::empty())).into(),
    }
}

fn name() -> ServerName<'static> {
    ServerName::try_from(NAME).unwrap()
}

/// A connection, encrypted, its two ends.
async fn pair(tls: &Tls) -> (server::TlsStream<TcpStream>, client::TlsStream<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let connector = tls.connector.clone();
    let connecting = ropewalk::spawn(async move {
        connector.connect(name(), TcpStream::connect(address).await.unwrap()).await.unwrap()
    });
    let (stream, _) = listener.accept().await.unwrap();
    let accepted = tls.acceptor.accept(stream).await.unwrap();
    (accepted, connecting.await.unwrap())
}

fn everywhere(test: impl AsyncFn(Tls)) {
    for (name, builder) in for_sockets() {
        guarded(name, || builder.build().unwrap().block_on(test(tls())));
    }
}

#[test]
fn what_is_sent_comes_back_and_the_end_is_announced() {
    everywhere(async |tls| {
        let (mut server, mut client) = pair(&tls).await;
        let echoing = ropewalk::spawn(async move {
            let mut all = Vec::new();
            // It ends only if the other side has said so (close_notify): a connection that just breaks off is an error.
            server.read_to_end(&mut all).await.unwrap();
            server.write_all(&all).await.unwrap();
            server.close().await.unwrap();
        });
        let sent = pattern(100_000);
        client.write_all(&sent).await.unwrap();
        client.close().await.unwrap();
        let mut back = Vec::new();
        client.read_to_end(&mut back).await.unwrap();
        assert!(back == sent, "{} of {} bytes came back", back.len(), sent.len());
        echoing.await.unwrap();
    });
}

#[test]
fn a_connection_that_breaks_off_is_not_taken_for_its_end() {
    everywhere(async |tls| {
        let (mut server, mut client) = pair(&tls).await;
        client.write_all(b"half of").await.unwrap();
        client.flush().await.unwrap();
        let (stream, _) = client.into_inner();
        drop(stream);
        let error = server.read_to_end(&mut Vec::new()).await.unwrap_err();
        // The system resets it if there was something that the client had not read.
        let kinds = [io::ErrorKind::UnexpectedEof, io::ErrorKind::ConnectionReset];
        assert!(kinds.contains(&error.kind()), "{error}");
    });
}

#[test]
fn who_does_not_know_the_certificate_refuses() {
    everywhere(async |tls| {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stranger = tls.stranger.clone();
        let connecting = ropewalk::spawn(async move {
            stranger.connect(name(), TcpStream::connect(address).await.unwrap()).await.map(drop)
        });
        let (stream, _) = listener.accept().await.unwrap();
        assert!(tls.acceptor.accept(stream).await.is_err());
        let refused = connecting.await.unwrap().unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData, "{refused}");
    });
}

#[test]
fn http_goes_over_it() {
    everywhere(async |tls| {
        for protocol in PROTOCOLS {
            let (server, client) = pair(&tls).await;
            drop(ropewalk::spawn(serve(protocol, Io::new(server))));
            let mut sender = shake_hands(protocol, Io::new(client)).await.unwrap();
            let sent = pattern(200_000);
            let (_, back) = sender.ask("/echo", whole(sent.clone())).await.unwrap();
            assert!(back == sent, "{protocol:?}: {} of {} bytes", back.len(), sent.len());
        }
    });
}
