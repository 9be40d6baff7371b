// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CALIBRISK_INTERRUPT_H
#define CALIBRISK_INTERRUPT_H

// Raises what stops R: an interrupt of the user, or a time limit (setTimeLimit()). On the main
// thread only.
void check_interrupt();

#endif
