/** A device in Node: `program.mjs MODULE URL OPTIONS`. It writes a line of JSON for each change, and ends with its input. */

const [module, url, options] = process.argv.slice(2);
const { serve } = await import(module);
const onChange = ({ state, holder, said }) => console.log(JSON.stringify({ state, holder, said }));
const device = await serve(url, { ...JSON.parse(options), onChange });
process.stdin.on("end", () => device.close()).resume();
