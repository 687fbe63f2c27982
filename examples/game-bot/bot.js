// Falls freely until it is too fast for its height, then brakes. The three numbers are guesses, and
// bad ones: it crashes. They are what `agar evolve run lander.toml` changes.
const SLOPE = 0.02;
const FLOOR = 5;
const GAIN = 0.2;

function evaluate(input) {
  const { height, speed } = JSON.parse(input);
  const allowed = FLOOR + SLOPE * height;
  return Math.min(1, Math.max(0, GAIN * (speed - allowed)));
}
