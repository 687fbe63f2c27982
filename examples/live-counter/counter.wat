;; A counter: each message is a number in decimal digits, which is added; the answer is the sum.
;; Its state is one number, saved in eight bytes under schema 1.
(module
  (memory (export "memory") 1)
  (global $sum (mut i64) (i64.const 0))

  (func (export "alloc") (param i32) (result i32) (i32.const 1024))
  (func (export "schema") (result i32) (i32.const 1))

  ;; The number that the digits at this place say; anything else counts for nothing.
  (func $read (param $at i32) (param $length i32) (result i64)
    (local $number i64) (local $digit i64)
    (block $done
      (loop $next
        (br_if $done (i32.eqz (local.get $length)))
        (local.set $digit (i64.sub (i64.load8_u (local.get $at)) (i64.const 48)))
        (if (i64.lt_u (local.get $digit) (i64.const 10))
          (then (local.set $number (i64.add (i64.mul (local.get $number) (i64.const 10))
                                            (local.get $digit)))))
        (local.set $at (i32.add (local.get $at) (i32.const 1)))
        (local.set $length (i32.sub (local.get $length) (i32.const 1)))
        (br $next)))
    (local.get $number))

  ;; The sum in decimal digits, written backwards from place 64: pointer and length in one.
  (func $write (result i64)
    (local $left i64) (local $at i32)
    (local.set $left (global.get $sum))
    (local.set $at (i32.const 64))
    (loop $next
      (local.set $at (i32.sub (local.get $at) (i32.const 1)))
      (i64.store8 (local.get $at)
        (i64.add (i64.const 48) (i64.rem_u (local.get $left) (i64.const 10))))
      (local.set $left (i64.div_u (local.get $left) (i64.const 10)))
      (br_if $next (i64.ne (local.get $left) (i64.const 0))))
    (i64.or
      (i64.shl (i64.extend_i32_u (local.get $at)) (i64.const 32))
      (i64.extend_i32_u (i32.sub (i32.const 64) (local.get $at)))))

  (func (export "step") (param $at i32) (param $length i32) (result i64)
    (global.set $sum (i64.add (global.get $sum)
      (call $read (local.get $at) (local.get $length))))
    (call $write))

  (func (export "save") (result i64)
    (i64.store (i32.const 128) (global.get $sum))
    (i64.const 549755813896)) ;; eight bytes at 128

  (func (export "load") (param $at i32) (param $length i32) (param $schema i32) (result i32)
    (if (i32.ne (local.get $schema) (i32.const 1)) (then (return (i32.const 1))))
    (global.set $sum (i64.load (local.get $at)))
    (i32.const 0)))
