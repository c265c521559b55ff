/**
 * The page of pages.py: `node --expose-gc page.mjs MODULE URL KEY`. It tells the bytes that it holds for each line that it
 * gets, and ends with its input.
 */

const [module, url, key] = process.argv.slice(2);
const { serve } = await import(module);
const limits = { memoryBytes: 64 << 20, messageBytes: 1 << 20 };
const device = await serve(url, { name: "page", key, limits });
const tell = () => {
  gc();
  const { heapUsed, external } = process.memoryUsage();
  console.log(heapUsed + external);
};
process.stdin.on("data", tell).on("end", () => device.close());
