# The numbers that panels, validations, rankings, scores and their figures show, a row for each: what it is called, and
# in a figure where that is shorter; its value for a calibrated model; the scale on which it is about normal, if not its
# own; and what kind it is
#   test    says more than a number, or none
#   smooth  a distance to a smooth curve
#   ladder  from the nested bases, which take rows as independent
#   binary  of one probability per row, whose title says of which
number_facts <- utils::read.table(header = TRUE, sep = "|", row.names = 1, strip.white = TRUE, quote = "", text = "
  name              | words                    | short | null | scale | kind
  oe_ratio          | O:E ratio                | O:E   | 1    | log   |
  in_the_large      | calibration in the large |       | 0    |       |
  intercept         | intercept (slope free)   |       | 0    |       |
  slope             | slope                    |       | 1    |       |
  joint             | joint test (statistic)   |       |      |       | test
  ici               | ICI                      |       | 0    |       | smooth
  e50               | E50                      |       | 0    |       | smooth
  e90               | E90                      |       | 0    |       | smooth
  emax              | Emax                     |       | 0    |       | smooth
  eci               | ECI                      |       | 0    |       | smooth
  calibration_error | calibration error        |       | 0    | root  | ladder
  equivalence       | calibration error below  |       |      |       | test
  all_groups        | all groups (test)        |       |      |       | test
  auroc             | AUROC                    | C     |      | logit |
  brier             | Brier score              |       |      |       |
  scaled_brier      | scaled Brier score       |       |      | skill |
  log_loss          | log loss                 |       |      |       |
  net_benefit       | net benefit at           |       |      |       |
  log               | log loss                 |       |      |       |
  spherical         | spherical score          |       |      |       |
  dss               | Dawid-Sebastiani score   |       |      |       |
  crps              | CRPS                     |       |      |       |
  error             | misclassification        |       |      |       |
  ece               | ECE                      |       | 0    |       | binary
  ks_error          | KS error                 |       | 0    |       | binary
  mmce              | MMCE                     |       | 0    |       | binary
  smooth_ece        | smooth ECE               |       | 0    |       | binary
  ece_canonical     | canonical ECE            |       | 0    |       |
  ece_pointwise     | canonical ECE, pointwise |       |      |       |
  ckce              | CKCE                     |       | 0    |       |
  ckce_debiased     | CKCE, off-diagonal       |       | 0    |       |
  ckce_null_mean    | CKCE, null mean removed  |       | 0    |       |
  jkce              | JKCE                     |       | 0    |       |
")

# A fact of each name, without what stands in brackets behind it; NA of names that are not there.
number_fact <- function(names, fact) number_facts[[fact]][match(sub("[(].*", "", names), row.names(number_facts))]

# Rows of numbers in the order in which Cox's regression has them, and of the distances to a smooth curve.
cox_terms <- c("intercept", "slope", "in_the_large", "joint")
smooth_terms <- c("ici", "e50", "e90", "emax", "eci")
