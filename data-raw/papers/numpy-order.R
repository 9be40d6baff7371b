# The row order of the released scripts of Gruber and Bach (2025): numpy.random.seed(seed); numpy.random.shuffle(rows).
# numpy and R have the same generator (MT19937); they differ in how a seed becomes its state, and a word a row number.

# Row numbers 1 to n in numpy's order.
numpy_order <- function(n, seed = 0) {
  kind <- RNGkind("Mersenne-Twister")
  old <- get(".Random.seed", globalenv())
  on.exit({
    do.call(RNGkind, as.list(kind))
    assign(".Random.seed", old, globalenv())
  })
  # position 624: the next draw makes new words
  assign(".Random.seed", c(old[1], 624L, as_signed(mt19937_state(seed))), globalenv())
  # R scales a word of 32 bits to (0, 1)
  word <- function() round(stats::runif(1) / 2.3283064365386963e-10)
  rows <- seq_len(n)
  for (i in (n - 1):1) {
    # a number from 0 to i: words cut to as many bits, until one fits
    bits <- 2^ceiling(log2(i + 1))
    repeat {
      j <- word() %% bits
      if (j <= i) break
    }
    rows[c(i + 1, j + 1)] <- rows[c(j + 1, i + 1)]
  }
  rows
}

# init_genrand() of the reference implementation; products modulo 2^32 in two halves, since doubles hold 53 bits.
mt19937_state <- function(seed) {
  state <- numeric(624)
  state[1] <- seed
  for (i in 2:624) {
    x <- xor_words(state[i - 1], floor(state[i - 1] / 2^30))
    low <- x %% 2^16
    high <- floor(x / 2^16)
    state[i] <- (1812433253 * low + ((1812433253 * high) %% 2^16) * 2^16 + i - 1) %% 2^32
  }
  state
}
xor_words <- function(a, b) {
  bitwXor(floor(a / 2^16), floor(b / 2^16)) * 2^16 + bitwXor(a %% 2^16, b %% 2^16)
}
# Words as R keeps them: signed, with NA for -2^31.
as_signed <- function(word) {
  word <- ifelse(word >= 2^31, word - 2^32, word)
  word[word == -2^31] <- NA
  as.integer(word)
}
