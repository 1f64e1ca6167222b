//! TLS to the server: whom to trust, and what to show.

use std::path::Path;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use super::address::TlsFiles;
use crate::error::{Error, Result, quoted};

/// Read once, when the store is opened, so that a wrong file is told then.
pub(super) fn config(files: &TlsFiles) -> Result<Arc<ClientConfig>> {
    let roots = match &files.authorities {
        Some(path) => roots_of(path)?,
        None => roots_of_system()?,
    };
    // Not the process's default provider: that is the host's to choose, or another library's.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::invalid(format!("TLS cannot be used: {error}")))?
        .with_root_certificates(roots);
    let mut config = match (&files.certificate, &files.key) {
        (Some(certificate), Some(key)) => {
            let chain = certificates(certificate, "cert")?;
            must_be_file(key, "key")?;
            let key = PrivateKeyDer::from_pem_file(key).map_err(|_| unusable(key, "key"))?;
            config.with_client_auth_cert(chain, key).map_err(|_| unusable(certificate, "cert"))?
        }
        _ => config.with_no_client_auth(),
    };
    // Its memory of sessions has a lock of its own, which a fork could catch held.
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

fn roots_of(path: &Path) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path, "ca")? {
        roots.add(certificate).map_err(|_| unusable(path, "ca"))?;
    }
    Ok(roots)
}

fn roots_of_system() -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        let message = "this system has no certificates of authorities: install ca-certificates, or \
                       give the server's in the address (?ca=FILE)";
        return Err(Error::invalid(message));
    }
    Ok(roots)
}

fn certificates(path: &Path, option: &str) -> Result<Vec<CertificateDer<'static>>> {
    must_be_file(path, option)?;
    let found = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    let found: Vec<_> = found.map_err(|_| unusable(path, option))?;
    if found.is_empty() {
        return Err(unusable(path, option));
    }
    Ok(found)
}

/// Others, a FIFO say, might never give anything.
fn must_be_file(path: &Path, option: &str) -> Result<()> {
    let is_file = std::fs::metadata(path).is_ok_and(|facts| facts.is_file());
    if is_file { Ok(()) } else { Err(unusable(path, option)) }
}

fn unusable(path: &Path, option: &str) -> Error {
    Error::invalid(format!("\"{option}\" of the address: {} is no PEM file of one", quoted(path)))
}
