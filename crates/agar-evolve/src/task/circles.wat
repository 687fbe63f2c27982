;; Refines a packing of circles in the unit square, from where their centres begin.
;;
;; It climbs: every radius wants to grow, overlaps push back, and the push grows level by level until
;; what is left of them is about a millionth, which is taken off the radii in the end. The host
;; believes nothing of it: it checks the answer on a grid of whole numbers.
;;
;; In: x and y of each circle. Out: x, y and radius of each. All 64-bit floating-point numbers.
(module
  (memory (export "memory") 1)
  (global $count (mut i32) (i32.const 0))
  (func (export "alloc") (param i32) (result i32) (i32.const 1024))

  ;; A circle is nine numbers: place and radius, their speeds, and what pulls at them.
  (func $circle (param $index i32) (result i32)
    (i32.add (i32.const 16384) (i32.mul (local.get $index) (i32.const 72))))

  (func $add (param $at i32) (param $value f64)
    (f64.store (local.get $at) (f64.add (f64.load (local.get $at)) (local.get $value))))

  ;; A wall that lies `$over` too near pushes by `$push` along one side and shrinks.
  (func $wall (param $circle i32) (param $side i32) (param $over f64) (param $push f64)
    (if (f64.gt (local.get $over) (f64.const 0))
      (then
        (call $add (i32.add (local.get $circle) (i32.const 64))
          (f64.neg (f64.mul (f64.abs (local.get $push)) (local.get $over))))
        (call $add (i32.add (local.get $circle) (local.get $side))
          (f64.mul (local.get $push) (local.get $over))))))

  (func $walls (param $c i32) (param $mu f64)
    (local $x f64) (local $y f64) (local $r f64)
    (local.set $x (f64.load (local.get $c)))
    (local.set $y (f64.load offset=8 (local.get $c)))
    (local.set $r (f64.load offset=16 (local.get $c)))
    (call $wall (local.get $c) (i32.const 48) (f64.sub (local.get $r) (local.get $x)) (local.get $mu))
    (call $wall (local.get $c) (i32.const 48)
      (f64.sub (local.get $r) (f64.sub (f64.const 1) (local.get $x))) (f64.neg (local.get $mu)))
    (call $wall (local.get $c) (i32.const 56) (f64.sub (local.get $r) (local.get $y)) (local.get $mu))
    (call $wall (local.get $c) (i32.const 56)
      (f64.sub (local.get $r) (f64.sub (f64.const 1) (local.get $y))) (f64.neg (local.get $mu))))

  ;; Two circles that overlap push each other away and shrink.
  (func $pair (param $a i32) (param $b i32) (param $mu f64)
    (local $dx f64) (local $dy f64) (local $square f64) (local $sum f64) (local $d f64) (local $f f64)
    (local.set $dx (f64.sub (f64.load (local.get $a)) (f64.load (local.get $b))))
    (local.set $dy (f64.sub (f64.load offset=8 (local.get $a)) (f64.load offset=8 (local.get $b))))
    (local.set $square (f64.add (f64.mul (local.get $dx) (local.get $dx))
                                (f64.mul (local.get $dy) (local.get $dy))))
    (local.set $sum (f64.add (f64.load offset=16 (local.get $a)) (f64.load offset=16 (local.get $b))))
    (if (f64.le (local.get $sum) (f64.const 0)) (then (return)))
    (if (f64.ge (local.get $square) (f64.mul (local.get $sum) (local.get $sum))) (then (return)))
    (local.set $d (f64.add (f64.sqrt (local.get $square)) (f64.const 1e-12)))
    (local.set $f (f64.mul (local.get $mu) (f64.sub (local.get $sum) (local.get $d))))
    (call $add (i32.add (local.get $a) (i32.const 64)) (f64.neg (local.get $f)))
    (call $add (i32.add (local.get $b) (i32.const 64)) (f64.neg (local.get $f)))
    (local.set $f (f64.div (local.get $f) (local.get $d)))
    (local.set $dx (f64.mul (local.get $dx) (local.get $f)))
    (local.set $dy (f64.mul (local.get $dy) (local.get $f)))
    (call $add (i32.add (local.get $a) (i32.const 48)) (local.get $dx))
    (call $add (i32.add (local.get $a) (i32.const 56)) (local.get $dy))
    (call $add (i32.add (local.get $b) (i32.const 48)) (f64.neg (local.get $dx)))
    (call $add (i32.add (local.get $b) (i32.const 56)) (f64.neg (local.get $dy))))

  ;; Moves one of the three numbers of a circle.
  (func $move (param $at i32) (param $step f64)
    (f64.store offset=24 (local.get $at)
      (f64.add (f64.mul (f64.const 0.93) (f64.load offset=24 (local.get $at)))
               (f64.mul (local.get $step) (f64.load offset=48 (local.get $at)))))
    (call $add (local.get $at) (f64.load offset=24 (local.get $at))))

  (func $climb (param $mu f64)
    (local $i i32) (local $j i32) (local $c i32) (local $step f64)
    (local.set $i (i32.const 0))
    (loop $each
      (local.set $c (call $circle (local.get $i)))
      (f64.store offset=48 (local.get $c) (f64.const 0))
      (f64.store offset=56 (local.get $c) (f64.const 0))
      (f64.store offset=64 (local.get $c) (f64.const 1))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $each (i32.lt_u (local.get $i) (global.get $count))))
    (local.set $i (i32.const 0))
    (loop $first
      (local.set $c (call $circle (local.get $i)))
      (call $walls (local.get $c) (local.get $mu))
      (local.set $j (i32.const 0))
      (block $done
        (loop $second
          (br_if $done (i32.ge_u (local.get $j) (local.get $i)))
          (call $pair (local.get $c) (call $circle (local.get $j)) (local.get $mu))
          (local.set $j (i32.add (local.get $j) (i32.const 1)))
          (br $second)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $first (i32.lt_u (local.get $i) (global.get $count))))
    (local.set $step (f64.div (f64.const 0.1) (local.get $mu)))
    (local.set $i (i32.const 0))
    (loop $each
      (local.set $c (call $circle (local.get $i)))
      (call $move (local.get $c) (local.get $step))
      (call $move (i32.add (local.get $c) (i32.const 8)) (local.get $step))
      (call $move (i32.add (local.get $c) (i32.const 16)) (local.get $step))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $each (i32.lt_u (local.get $i) (global.get $count)))))

  ;; What two circles still overlap is taken off both.
  (func $part (param $a i32) (param $b i32)
    (local $dx f64) (local $dy f64) (local $over f64)
    (local.set $dx (f64.sub (f64.load (local.get $a)) (f64.load (local.get $b))))
    (local.set $dy (f64.sub (f64.load offset=8 (local.get $a)) (f64.load offset=8 (local.get $b))))
    (local.set $over
      (f64.add (f64.const 1e-15)
        (f64.sub (f64.add (f64.load offset=16 (local.get $a)) (f64.load offset=16 (local.get $b)))
          (f64.sqrt (f64.add (f64.mul (local.get $dx) (local.get $dx))
                             (f64.mul (local.get $dy) (local.get $dy)))))))
    (if (f64.gt (local.get $over) (f64.const 0))
      (then
        (local.set $over (f64.mul (local.get $over) (f64.const -0.5)))
        (call $add (i32.add (local.get $a) (i32.const 16)) (local.get $over))
        (call $add (i32.add (local.get $b) (i32.const 16)) (local.get $over)))))

  (func $settle
    (local $i i32) (local $j i32) (local $c i32) (local $x f64) (local $y f64)
    (loop $first
      (local.set $c (call $circle (local.get $i)))
      (local.set $x (f64.load (local.get $c)))
      (local.set $y (f64.load offset=8 (local.get $c)))
      (f64.store offset=16 (local.get $c)
        (f64.min (f64.load offset=16 (local.get $c))
          (f64.min (f64.min (local.get $x) (f64.sub (f64.const 1) (local.get $x)))
                   (f64.min (local.get $y) (f64.sub (f64.const 1) (local.get $y))))))
      (local.set $j (i32.const 0))
      (block $done
        (loop $second
          (br_if $done (i32.ge_u (local.get $j) (local.get $i)))
          (call $part (local.get $c) (call $circle (local.get $j)))
          (local.set $j (i32.add (local.get $j) (i32.const 1)))
          (br $second)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $first (i32.lt_u (local.get $i) (global.get $count)))))

  (func (export "evaluate") (param $at i32) (param $length i32) (result i64)
    (local $i i32) (local $c i32) (local $level i32) (local $mu f64)
    (global.set $count (i32.div_u (local.get $length) (i32.const 16)))
    (if (i32.eqz (global.get $count)) (then (return (i64.const 0))))
    (loop $each
      (local.set $c (call $circle (local.get $i)))
      (memory.fill (local.get $c) (i32.const 0) (i32.const 72))
      (memory.copy (local.get $c)
        (i32.add (local.get $at) (i32.mul (local.get $i) (i32.const 16))) (i32.const 16))
      (f64.store offset=16 (local.get $c) (f64.const 0.03))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $each (i32.lt_u (local.get $i) (global.get $count))))
    (local.set $mu (f64.const 10))
    (loop $levels
      (local.set $mu (f64.mul (local.get $mu) (f64.const 1.7)))
      (local.set $i (i32.const 0))
      (loop $steps
        (call $climb (local.get $mu))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br_if $steps (i32.lt_u (local.get $i) (i32.const 120))))
      (local.set $level (i32.add (local.get $level) (i32.const 1)))
      (br_if $levels (i32.lt_u (local.get $level) (i32.const 22))))
    (call $settle)
    (local.set $i (i32.const 0))
    (loop $each
      (memory.copy (i32.add (i32.const 8192) (i32.mul (local.get $i) (i32.const 24)))
        (call $circle (local.get $i)) (i32.const 24))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $each (i32.lt_u (local.get $i) (global.get $count))))
    (i64.or (i64.shl (i64.const 8192) (i64.const 32))
            (i64.extend_i32_u (i32.mul (global.get $count) (i32.const 24))))))
