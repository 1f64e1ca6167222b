//! What must hold whatever bytes come in, said once: the fuzz targets look for an input that breaks
//! it, and `make test` replays the corpus. Everything goes through the C ABI, as a host's calls do.

// Each target uses a part of this.
#![allow(dead_code, unused_imports)]
#![allow(unsafe_code)]

mod abi;
mod call;
mod input;
mod ip_key;
mod policy;
mod route;
mod texts;

pub use abi::abi;
pub use ip_key::ip_key;
pub use policy::policy;
pub use route::route;
pub use texts::texts;
