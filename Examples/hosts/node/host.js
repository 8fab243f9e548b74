// A program in Node with a gateway inside: node host.js gateway.yaml DATA_FOLDER
const { open, call } = require("./signalbox.node");

async function main(config, data) {
  let delivered = 0;
  let three;
  const all = new Promise((resolve) => (three = resolve));
  const gateway = open({
    library: process.env.LIBSIGNALBOX || "libsignalbox.so.1",
    config,
    data,
    onResult: ({ result }) => {
      if (result === 1 && ++delivered === 3) three();
    },
  });

  // What is wrong with the configuration, before anything runs.
  for (const one of await call(gateway, "check")) {
    console.error(`${one.file}:${one.line}:${one.column}: ${one.code}: ${one.message}`);
    if (one.isFault) process.exit(1);
  }
  await call(gateway, "start");

  // The program's own event: on disk when the promise is kept.
  const [submitted] = await call(gateway, "submit", "shop", JSON.stringify({
    type: "order.shipped",
    data: { title: { en: "Shipped", de: "Versandt" } },
    recipients: [{ platform: "ios", token: "a", locale: "de" }, { platform: "ios", token: "b" }],
  }));
  if (submitted.result !== 1 || submitted.deliveries !== 2) throw new Error(`submitted: ${submitted.result}`);

  // A webhook that the program's own server has received.
  const answer = await call(gateway, "handle", "POST", "/in/zendesk", "", JSON.stringify({
    devices: [{ identifier: "c", type: "ios" }],
    notification: { title: "T", body: "B", ticket_id: "5" },
  }));
  if (answer.status !== 200) throw new Error(`the webhook was answered ${answer.status}`);

  const timeout = setTimeout(() => {
    console.error(`only ${delivered} of 3 were delivered`);
    process.exit(1);
  }, 30_000);
  await all;
  clearTimeout(timeout);

  // What an operator would ask.
  const trace = await call(gateway, "admin", "GET", "/trace", `event=${submitted.event}`);
  if (trace.status !== 200 || JSON.parse(trace.body).events[0].type !== "order.shipped") throw new Error(trace.body);
  const report = JSON.parse((await call(gateway, "reload")).body);
  if (report.need_restart.length > 0) throw new Error("the file has changed");
  const { left } = await call(gateway, "stop");
  console.log(`delivered ${delivered}, left ${left}`);
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(error.report || error.message);
  process.exit(1);
});
