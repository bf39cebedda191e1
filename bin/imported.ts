/** The module that `import 'spoor'` finds: it says which package applications need. */
throw new Error('spoor is a server: start it with "npx spoor". In applications, import spoor-client or spoor/client')
