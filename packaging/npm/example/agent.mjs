// An echo agent on the official SDK.
import { Readable, Writable } from 'node:stream';
import { agent, methods, ndJsonStream } from '@agentclientprotocol/sdk';

agent({ name: 'echo' })
  .onRequest(methods.agent.initialize, () => ({ protocolVersion: 1, agentCapabilities: {} }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: crypto.randomUUID() }))
  .onRequest(methods.agent.session.prompt, async (call) => {
    const { params, client } = call;
    for (const content of params.prompt) {
      const update = { sessionUpdate: 'agent_message_chunk', content };
      await client.notify(methods.client.session.update, { sessionId: params.sessionId, update });
    }
    return { stopReason: 'end_turn' };
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
