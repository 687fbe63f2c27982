// The counter of counter.wat in C: it takes up the same state, eight bytes under schema 1.
static char room[256];
static unsigned char state[8];
static unsigned long long sum;

static long long at(const void *start, int length) { return (long long)(int)start << 32 | length; }

int schema(void) { return 1; }

int alloc(int length) { return length <= (int)sizeof room ? (int)room : 0; }

long long step(const char *message, int length) {
  unsigned long long number = 0;
  for (int i = 0; i < length; i++)
    if (message[i] >= '0' && message[i] <= '9') number = number * 10 + (message[i] - '0');
  sum += number;
  char *digit = room + 64;
  unsigned long long left = sum;
  do { *--digit = '0' + left % 10; left /= 10; } while (left);
  return at(digit, (int)(room + 64 - digit));
}

long long save(void) {
  for (int i = 0; i < 8; i++) state[i] = sum >> (8 * i);
  return at(state, 8);
}

int load(const unsigned char *saved, int length, int schema) {
  if (length != 8 || schema != 1) return 1;
  sum = 0;
  for (int i = 0; i < 8; i++) sum |= (unsigned long long)saved[i] << (8 * i);
  return 0;
}
