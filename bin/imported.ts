/** What `import 'spoor'` finds: a sentence instead of Node's message about `exports`. */
throw new Error('spoor is a server, started with "npx spoor". Applications import spoor-client, or spoor/client')
