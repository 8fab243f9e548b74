/* entry.effects: the handler of signal 10 */
#include <signal.h>
#define ON_ENTRY signal(SIGUSR1, SIG_IGN);
#include "base.h"
