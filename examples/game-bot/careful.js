// The same pilot with better numbers: it lands, on about a third of its fuel.
const SLOPE = 0.09;
const FLOOR = 1;
const GAIN = 0.5;

function evaluate(input) {
  const { height, speed } = JSON.parse(input);
  const allowed = FLOOR + SLOPE * height;
  return Math.min(1, Math.max(0, GAIN * (speed - allowed)));
}
