// The official Node clients through the gateway. Prints one JSON object: what each call gave, or the class of what it threw.
//
//   node clients.mjs GATEWAY_URL KEY MODEL     with FAREWAY_NODE_CLIENTS = the folder that holds node_modules
import { createRequire } from "node:module";
import { join } from "node:path";

const [url, key, model] = process.argv.slice(2);
const require = createRequire(join(process.env.FAREWAY_NODE_CLIENTS, "package.json"));
const { OpenAI } = require("openai");
const { Anthropic } = require("@anthropic-ai/sdk");

const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
const stranger = new OpenAI({ baseURL: `${url}/v1`, apiKey: "sk-wrong", maxRetries: 0 });
const anthropic = new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 });
const messages = [{ role: "user", content: "Name three colours of the rainbow." }];
// Greedy and without llama.cpp's own prompt cache, so that equal requests have equal answers.
const chat = { model, messages, max_tokens: 12, temperature: 0, seed: 7, cache_prompt: false };

const calls = {
  async chat() {
    const { data, response } = await openai.chat.completions.create(chat).withResponse();
    return { text: data.choices[0].message.content, usage: data.usage, id: response.headers.get("x-request-id") };
  },
  async chat_stream() {
    const { data, response } = await openai.chat.completions.create({ ...chat, stream: true }).withResponse();
    let text = "";
    let chunks_without_choices = 0;
    for await (const chunk of data) {
      text += chunk.choices[0]?.delta?.content ?? "";
      chunks_without_choices += chunk.choices.length === 0 ? 1 : 0;
    }
    return { text, chunks_without_choices, id: response.headers.get("x-request-id") };
  },
  async completions() {
    const answer = await openai.completions.create({ model, prompt: "Once upon a time", max_tokens: 8, temperature: 0 });
    return { text: answer.choices[0].text };
  },
  async responses() {
    const answer = await openai.responses.create({ model, input: "Name a colour.", max_output_tokens: 8 });
    return { text: answer.output_text };
  },
  async embeddings() {
    const answer = await openai.embeddings.create({ model, input: "a red house" });
    return { size: answer.data[0].embedding.length };
  },
  async models() {
    return { ids: (await openai.models.list()).data.map((entry) => entry.id) };
  },
  async messages() {
    const { data, response } = await anthropic.messages.create({ model, messages, max_tokens: 8 }).withResponse();
    return { text: data.content[0].text, usage: data.usage, id: response.headers.get("x-request-id") };
  },
  async messages_stream() {
    const stream = anthropic.messages.stream({ model, messages, max_tokens: 8 });
    let text = "";
    stream.on("text", (delta) => (text += delta));
    const final = await stream.finalMessage();
    return { text, final: final.content[0].text, usage: final.usage };
  },
  async wrong_key() {
    await stranger.chat.completions.create(chat);
  },
  async wrong_model() {
    await openai.chat.completions.create({ ...chat, model: "no-such-model" });
  },
  async bad_body() {
    await openai.chat.completions.create({ ...chat, max_tokens: -3 });
  },
  async anthropic_wrong_model() {
    await anthropic.messages.create({ model: "no-such-model", messages, max_tokens: 8 });
  },
};

const results = {};
for (const [name, call] of Object.entries(calls)) {
  try {
    results[name] = await call();
  } catch (error) {
    results[name] = { threw: error.constructor.name, status: error.status ?? null, message: error.message };
  }
}
console.log(JSON.stringify(results));
