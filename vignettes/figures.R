# How all vignettes draw: figures of few bytes, since the installed package must stay below 5 MB.
knitr::opts_chunk$set(
  collapse = TRUE, comment = "#>", dpi = 72, fig.retina = 1,
  render = knitr::normal_print, # what the console shows
  # without antialiasing: few colours, sharp, and few bytes
  dev = "png", # pkgdown has another, whose arguments differ
  dev.args = if (capabilities("cairo")) list(type = "cairo", antialias = "none")
)
# a palette, where the program is at hand
if (nzchar(Sys.which("pngquant"))) {
  knitr::knit_hooks$set(pngquant = knitr::hook_pngquant)
  knitr::opts_chunk$set(pngquant = "--speed=1 --nofs 24")
}
