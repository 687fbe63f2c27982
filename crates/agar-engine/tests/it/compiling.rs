//! Source that is compiled ahead: a genome comes of it, or a reason, and nothing is left.

use crate::desk::Desk;
use agar_core::fault::{Fault as _, Kind, Remedy};
use agar_core::limits::Limits;
use agar_engine::compile::{CompileError, Compiled, compile};
use agar_engine::{Control, Controls, NoControls, SandboxOptions};
use agar_evolve::{Genome, Incubator, Rules, Settings, Spec, Value};
use agar_testkit::clock::FixedClock;
use agar_testkit::skip;
use std::os::fd::BorrowedFd;
use std::sync::Arc;

const SQUARE_C: &str = "static int twice(int x) { return x * 2; }\n\
    int square(int x) { return twice(x) * x / 2; }\n";
const SQUARE_RUST: &str = "#![no_std]\n\
    #[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n\
    #[unsafe(no_mangle)] pub extern \"C\" fn square(x: i32) -> i32 { x.wrapping_mul(x) }\n";

/// A counter with memory of its own: what genomes in these languages look like.
const COUNTER_C: &str = "static unsigned char room[64]; static long long sum;\n\
    int alloc(int length) { return length <= 64 ? (int)room : 0; }\n\
    static long long out(void) {\n\
      for (int i = 0; i < 8; i++) room[i] = (unsigned long long)sum >> (8 * i);\n\
      return (long long)(int)room << 32 | 8; }\n\
    long long step(unsigned char *at, int length) {\n\
      for (int i = 0; i < length; i++) sum += at[i];\n\
      return out(); }\n\
    long long save(void) { return out(); }\n\
    int load(unsigned char *at, int length, int schema) {\n\
      sum = 0;\n\
      for (int i = 0; i < length; i++) sum |= (long long)at[i] << (8 * i);\n\
      return 0; }\n";
const COUNTER_RUST: &str = "#![no_std]\n\
    #[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n\
    static mut ROOM: [u8; 64] = [0; 64]; static mut SUM: i64 = 0;\n\
    #[unsafe(no_mangle)] pub extern \"C\" fn alloc(_: i32) -> *mut u8 { &raw mut ROOM as *mut u8 }\n\
    fn out() -> i64 { unsafe {\n\
      let room = &raw mut ROOM as *mut u8;\n\
      room.copy_from(SUM.to_le_bytes().as_ptr(), 8);\n\
      ((room as usize as i64) << 32) | 8 } }\n\
    #[unsafe(no_mangle)] pub unsafe extern \"C\" fn step(at: *const u8, length: usize) -> i64 { unsafe {\n\
      for i in 0..length { SUM += i64::from(*at.add(i)); } }\n\
      out() }\n\
    #[unsafe(no_mangle)] pub extern \"C\" fn save() -> i64 { out() }\n\
    #[unsafe(no_mangle)] pub unsafe extern \"C\" fn load(at: *const [u8; 8], _: i32, _: i32) -> i32 {\n\
      unsafe { SUM = i64::from_le_bytes(*at); } 0 }\n";

/// Compiles with whatever this machine has, which need not be on a bare path.
fn compiled(desk: &Desk, language: Compiled, source: &str) -> Result<Vec<u8>, CompileError> {
    let rustc = std::process::Command::new("rustc")
        .args(["--print", "sysroot"])
        .output();
    let toolchain = rustc.map_or_else(
        |_| String::new(),
        |told| String::from_utf8_lossy(&told.stdout).trim().to_owned(),
    );
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = format!("{toolchain}/bin:{}", path.to_string_lossy());
    let engine = desk.engine_with_path(path.as_ref());
    let given = (language, source.as_bytes());
    compile(&engine, SandboxOptions::default(), given, &mut NoControls)
}

/// The module's `square`, in a cell.
fn square(module: &[u8]) -> Vec<Value> {
    let genome = Genome::from_wasm(module, &Rules::default()).unwrap();
    let clock = Arc::new(FixedClock::default());
    let incubator = Incubator::new(&Settings::default(), clock);
    let mut cell = incubator.create(&genome, Spec::default()).unwrap();
    cell.call("square", &[Value::I32(12)]).unwrap()
}

/// Counts in a cell, sleeps, and goes on in another one.
fn counts(module: &[u8]) {
    let genome = Genome::from_wasm(module, &Rules::default()).unwrap();
    let clock = Arc::new(FixedClock::default());
    let incubator = Incubator::new(&Settings::default(), clock);
    let mut cell = incubator.create(&genome, Spec::default()).unwrap();
    assert_eq!(cell.step(&[200, 100]).unwrap(), 300_i64.to_le_bytes());
    cell.hibernate().unwrap();
    let state = cell.save().unwrap();
    let mut other = incubator.create(&genome, Spec::default()).unwrap();
    other.load(&state).unwrap();
    assert_eq!(other.step(&[1]).unwrap(), 301_i64.to_le_bytes());
}

#[test]
fn c_becomes_a_genome() {
    let desk = Desk::new();
    match compiled(&desk, Compiled::C, SQUARE_C) {
        Err(CompileError::NoCompiler { .. }) => {
            skip!("c-compiler", "neither clang with lld nor Zig")
        }
        module => assert_eq!(square(&module.unwrap()), [Value::I32(144)]),
    }
    counts(&compiled(&desk, Compiled::C, COUNTER_C).unwrap());
    let wrong = compiled(&desk, Compiled::C, "int square(int x) { return y; }").unwrap_err();
    assert_eq!(wrong.kind(), Kind::Invalid);
    assert!(wrong.to_string().contains('y'), "{wrong}");
    desk.assert_all_gone();
}

#[test]
fn rust_becomes_a_genome() {
    let desk = Desk::new();
    match compiled(&desk, Compiled::Rust, SQUARE_RUST) {
        Err(CompileError::NoCompiler { .. }) => {
            skip!("rust-target", "no rustc with wasm32-unknown-unknown")
        }
        module => assert_eq!(square(&module.unwrap()), [Value::I32(144)]),
    }
    counts(&compiled(&desk, Compiled::Rust, COUNTER_RUST).unwrap());
    let wrong = compiled(&desk, Compiled::Rust, "fn main() { nonsense }").unwrap_err();
    assert_eq!(wrong.kind(), Kind::Invalid);
    desk.assert_all_gone();
}

/// With a directory of these programs as the whole path.
fn with_programs(desk: &Desk, programs: &[(&str, &str)]) -> agar_engine::Engine {
    use std::os::unix::fs::PermissionsExt as _;
    let place = desk.root().join("programs");
    fs_err::create_dir_all(&place).unwrap();
    for tool in ["cat", "mktemp", "sleep", "sh"] {
        std::os::unix::fs::symlink(format!("/bin/{tool}"), place.join(tool)).unwrap();
    }
    for (name, text) in programs {
        let path = place.join(name);
        fs_err::write(&path, text).unwrap();
        fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    desk.engine_with_path(&place)
}

#[test]
fn without_a_compiler_it_says_what_to_install() {
    let desk = Desk::new();
    let engine = with_programs(&desk, &[]);
    for (language, line) in [
        (Compiled::C, "pip install ziglang"),
        (Compiled::Rust, "rustup target add wasm32-unknown-unknown"),
    ] {
        let given = (language, b"".as_slice());
        let error = compile(&engine, SandboxOptions::default(), given, &mut NoControls);
        let error = error.unwrap_err();
        assert_eq!(error.kind(), Kind::Unsupported, "{error}");
        let line = line.to_owned();
        assert_eq!(error.remedy(), Some(Remedy::Command { line }));
    }
    desk.assert_all_gone();
}

/// A compiler that never ends, as far as it is asked.
const ENDLESS: &[(&str, &str)] = &[
    ("clang", "#!/bin/sh\nwhile :; do sleep 1; done\n"),
    ("wasm-ld", "#!/bin/sh\n"),
];

#[test]
fn a_compiler_that_does_not_end_is_ended_by_its_limit() {
    let desk = Desk::new();
    let engine = with_programs(&desk, ENDLESS);
    let options = SandboxOptions {
        limits: Limits {
            timeout_ms: Some(2_000),
            ..Limits::default()
        },
        ..SandboxOptions::default()
    };
    let ended = compile(&engine, options, (Compiled::C, b""), &mut NoControls).unwrap_err();
    assert!(matches!(ended, CompileError::Limit { .. }), "{ended:?}");
    desk.assert_all_gone();
}

/// Says stop at once.
struct Impatient(Option<Control>, std::os::unix::net::UnixStream);

impl Controls for Impatient {
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        use std::os::fd::AsFd as _;
        self.0.is_some().then(|| self.1.as_fd())
    }

    fn next(&mut self) -> Option<Control> {
        self.0.take()
    }
}

#[test]
fn whoever_asked_for_it_can_end_it() {
    let desk = Desk::new();
    let engine = with_programs(&desk, ENDLESS);
    let (readable, mut other) = std::os::unix::net::UnixStream::pair().unwrap();
    std::io::Write::write_all(&mut other, b"x").unwrap();
    let mut controls = Impatient(Some(Control::Stop), readable);
    let options = SandboxOptions::default();
    let ended = compile(&engine, options, (Compiled::C, b""), &mut controls).unwrap_err();
    assert!(
        matches!(ended, CompileError::Ended { .. } | CompileError::Engine(_)),
        "{ended:?}"
    );
    desk.assert_all_gone();
}
