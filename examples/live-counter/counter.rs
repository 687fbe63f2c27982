//! The counter of counter.wat in Rust: it takes up the same state, eight bytes under schema 1.
#![no_std]

use core::slice::from_raw_parts;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    core::arch::wasm32::unreachable()
}

static mut ROOM: [u8; 256] = [0; 256];
static mut DIGITS: [u8; 20] = [0; 20];
static mut SUM: u64 = 0;

fn at(start: *const u8, length: usize) -> i64 {
    (start as i64) << 32 | length as i64
}

#[unsafe(no_mangle)]
pub extern "C" fn schema() -> i32 {
    1
}

#[unsafe(no_mangle)]
pub extern "C" fn alloc(length: usize) -> *mut u8 {
    if length <= 256 { &raw mut ROOM as *mut u8 } else { core::ptr::null_mut() }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn step(message: *const u8, length: usize) -> i64 {
    let message = unsafe { from_raw_parts(message, length) };
    let digits = message.iter().filter(|byte| byte.is_ascii_digit());
    let number = digits.fold(0_u64, |sum, byte| sum.wrapping_mul(10).wrapping_add(u64::from(byte - b'0')));
    unsafe {
        SUM = SUM.wrapping_add(number);
        let (digits, mut place, mut left) = (&raw mut DIGITS as *mut u8, 20, SUM);
        loop {
            place -= 1;
            digits.add(place).write(b'0' + (left % 10) as u8);
            left /= 10;
            if left == 0 {
                return at(digits.add(place), 20 - place);
            }
        }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn save() -> i64 {
    // This machine and the next write numbers from their low end.
    at(&raw const SUM as *const u8, 8)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn load(saved: *const u8, length: usize, schema: i32) -> i32 {
    if length != 8 || schema != 1 {
        return 1;
    }
    unsafe { SUM = saved.cast::<u64>().read_unaligned() };
    0
}
