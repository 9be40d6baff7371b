# Figures as PNG with a palette of at most `n` colours: a third of the bytes of what grDevices::png() writes, and no
# program or package is needed. The device is grDevices::bmp(), whose file has no compression and is rewritten here.

# Pixels of a bitmap file as colours, 256^2 r + 256 g + b: a row per line of the picture.
read_bitmap <- function(file) {
  bytes <- readBin(file, "raw", file.size(file))
  number <- function(at, size = 4L) readBin(bytes[at + seq_len(size)], "integer", 1, size, endian = "little")
  width <- number(18)
  height <- number(22)
  bits <- number(28, 2L)
  # lines start at multiples of four bytes, the last one first
  line <- 4 * ceiling(width * bits / 32)
  pixels <- matrix(as.integer(bytes[number(10) + seq_len(line * height)]), line)[, height:1]
  colour <- function(b, g, r) 65536L * r + 256L * g + b
  if (bits == 24) {
    first <- 3 * seq_len(width) - 2
    return(t(colour(pixels[first, ], pixels[first + 1, ], pixels[first + 2, ])))
  }
  stopifnot(bits == 8)
  palette <- matrix(as.integer(bytes[54 + seq_len(4 * 256)]), 4)
  t(matrix(colour(palette[1, ], palette[2, ], palette[3, ])[pixels[seq_len(width), ] + 1L], width))
}

# The palette: the most frequent colours first, then always the one that is worst to replace, by its frequency and its
# squared distance to the nearest colour in the palette. A list with the colours and each pixel's number.
few_colours <- function(pixels, n = 64) {
  all <- sort(table(pixels), decreasing = TRUE)
  count <- as.numeric(all)
  all <- as.integer(names(all))
  rgb <- cbind(all %/% 65536L, all %/% 256L %% 256L, all %% 256L)
  distance <- function(i) colSums((t(rgb) - rgb[i, ])^2)
  chosen <- 1L
  nearest <- rep(1L, length(all))
  away <- distance(1)
  while (length(chosen) < min(n, length(all))) {
    worst <- which.max(count * away)
    chosen <- c(chosen, worst)
    to_it <- distance(worst)
    closer <- to_it < away
    nearest[closer] <- length(chosen)
    away[closer] <- to_it[closer]
  }
  list(rgb = rgb[chosen, , drop = FALSE], at = matrix(nearest[match(pixels, all)], nrow(pixels)))
}

# The checksum of a chunk, as four bytes: CRC-32, whose words are pairs of 16 bits here, since R's integers have a sign.
crc_table <- local({
  high <- integer(256)
  low <- 0:255
  for (step in 1:8) {
    odd <- low %% 2L == 1L
    shifted <- bitwOr(low %/% 2L, 32768L * (high %% 2L))
    high <- ifelse(odd, bitwXor(high %/% 2L, 0xEDB8L), high %/% 2L)
    low <- ifelse(odd, bitwXor(shifted, 0x8320L), shifted)
  }
  list(high = high, low = low)
})
crc <- function(bytes) {
  high <- low <- 65535L
  for (byte in as.integer(bytes)) {
    i <- bitwXor(low %% 256L, byte) + 1L
    shifted <- bitwOr(low %/% 256L, 256L * (high %% 256L))
    high <- bitwXor(high %/% 256L, crc_table$high[i])
    low <- bitwXor(shifted, crc_table$low[i])
  }
  c(word(65535L - high)[3:4], word(65535L - low)[3:4])
}
word <- function(x) writeBin(as.integer(x), raw(), endian = "big")

write_png <- function(picture, file) {
  chunk <- function(type, bytes = raw()) {
    typed <- c(charToRaw(type), bytes)
    c(word(length(bytes)), typed, crc(typed))
  }
  # a byte per pixel; each line starts with 0, no filter
  lines <- as.raw(rbind(0L, t(picture$at - 1L)))
  header <- c(word(ncol(picture$at)), word(nrow(picture$at)), as.raw(c(8, 3, 0, 0, 0)))
  writeBin(c(as.raw(c(137, 80, 78, 71, 13, 10, 26, 10)), chunk("IHDR", header),
             chunk("PLTE", as.raw(t(picture$rgb))), chunk("IDAT", memCompress(lines, "gzip")), chunk("IEND")), file)
}

# Rewrites a bitmap file as PNG, under its name.
small_png <- function(file) {
  write_png(few_colours(read_bitmap(file)), file)
  file
}
