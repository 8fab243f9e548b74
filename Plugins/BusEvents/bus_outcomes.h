/* bus_outcomes.h - the role observe of a bus: a thread that publishes one batch of outcomes at a time; linked into each
 * plugin of a bus. */
#ifndef BUS_OUTCOMES_H
#define BUS_OUTCOMES_H
#include <pthread.h>
#include <signalbox/plugin.h>
#include <stdbool.h>

/* Publishes a batch, on the thread; the status is that of done(). */
typedef sbx_status (*bus_publish)(sbx_instance *instance, const sbx_observation *batch, size_t n);

/* Zero it. */
typedef struct bus_outcomes {
  const sbx_host *host;
  sbx_instance *instance;
  bus_publish publish;
  pthread_mutex_t lock;  /* guards the fields below; never held during a call of the host */
  pthread_cond_t changed;
  pthread_t thread;
  bool has_thread, is_stopping;
  sbx_observation *batch;  /* with copies of the texts; NULL: none */
  size_t count;
} bus_outcomes;

/* Statuses: OK, INTERNAL (no thread can be made). */
sbx_status bus_outcomes_start(bus_outcomes *outcomes, const sbx_host *host, sbx_instance *instance, bus_publish publish);
/* Takes a batch for the thread. Statuses: OK, AGAIN (no memory). */
sbx_status bus_outcomes_take(bus_outcomes *outcomes, const sbx_observation *observations, size_t n, size_t stride);
/* Whether the instance stops: publish() should return soon. */
bool bus_outcomes_stopping(bus_outcomes *outcomes);
/* Ends the thread; what was not published comes again after the next start. */
void bus_outcomes_stop(bus_outcomes *outcomes);

#endif
