//! Whose signature makes the certificate of an endpoint good.
//!
//! What this machine trusts, found as other programs find it: an administrator who adds or takes away
//! an authority does so for agar, too. The list that is built in is for machines that have none.

use crate::Engine;
use crate::evolve::failure::EvolveError;
use std::path::Path;
use std::sync::Arc;
use ureq::tls::{Certificate, PemItem, RootCerts, parse_pem};

/// The variable that names another file.
const VARIABLE: &str = "SSL_CERT_FILE";

/// Where distributions keep theirs.
const BUNDLES: [&str; 3] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
];

/// The authorities to trust. A file that was named and cannot be used is an error: whoever named it
/// does not want the others.
pub(super) fn roots(engine: &Engine) -> Result<RootCerts, EvolveError> {
    if let Some(named) = engine.surroundings().variable(VARIABLE) {
        return read(Path::new(named));
    }
    let bundle = BUNDLES.map(Path::new).into_iter().find(|at| at.exists());
    bundle.map_or(Ok(RootCerts::WebPki), read)
}

fn read(path: &Path) -> Result<RootCerts, EvolveError> {
    let no_roots = |why: String| EvolveError::NoRoots {
        path: path.to_owned(),
        why,
    };
    let text = fs_err::read(path).map_err(|error| no_roots(error.kind().to_string()))?;
    let certificates = parse(&text).map_err(|error| no_roots(error.to_string()))?;
    if certificates.is_empty() {
        return Err(no_roots("there are none in it".to_owned()));
    }
    Ok(RootCerts::Specific(Arc::new(certificates)))
}

fn parse(text: &[u8]) -> Result<Vec<Certificate<'static>>, ureq::Error> {
    let mut certificates = Vec::new();
    for item in parse_pem(text) {
        if let PemItem::Certificate(certificate) = item? {
            certificates.push(certificate);
        }
    }
    Ok(certificates)
}
