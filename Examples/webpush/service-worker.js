// Shows what the gateway sends, takes it back when it is withdrawn, and opens its link.
"use strict";

async function show(message) {
  if (message.withdraw !== undefined) {
    const shown = await self.registration.getNotifications({ tag: message.withdraw });
    for (const notification of shown) notification.close();
    return;
  }
  if ("setAppBadge" in self.navigator && message.badge !== undefined) {
    await self.navigator.setAppBadge(message.badge).catch(() => undefined);
  }
  // Browsers want something to be shown for each push.
  await self.registration.showNotification(message.title || "News", {
    body: message.body,
    image: message.image,
    tag: message.tag,
    renotify: Boolean(message.tag),
    silent: message.silent === true,
    data: { link: message.link, id: message.id, data: message.data },
  });
}

self.addEventListener("push", (event) => {
  let message = {};
  try {
    message = event.data ? event.data.json() : {};
  } catch {
    message = { title: event.data.text() };
  }
  event.waitUntil(show(message));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const link = event.notification.data?.link;
  if (link && /^https?:/.test(link)) event.waitUntil(self.clients.openWindow(link));
});
