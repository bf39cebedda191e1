/** The module that `import 'spoor'` finds: it says which package applications need. */
throw new Error('spoor is a server, started with "npx spoor". Applications import spoor-client, or spoor/client')
