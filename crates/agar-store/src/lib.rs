//! What agar remembers on disk.
