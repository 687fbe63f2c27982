//! Manifest.
