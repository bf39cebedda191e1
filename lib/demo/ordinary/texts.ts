/** The texts of ordinary traces: those of a bookshop with a web shop and an office. */
import { choose, integer, type Random } from './random.ts'

export const BOOKS = [
  ['The Salt Path', 'Raynor Winn', 11.99],
  ['South', 'Ernest Shackleton', 16],
  ['Piranesi', 'Susanna Clarke', 10.5],
  ['The Overstory', 'Richard Powers', 13.4],
  ['Klara and the Sun', 'Kazuo Ishiguro', 9.99],
  ['A Psalm for the Wild-Built', 'Becky Chambers', 12.75],
  ['Entangled Life', 'Merlin Sheldrake', 14.2],
  ['Der Zauberberg', 'Thomas Mann', 18],
  ['The Left Hand of Darkness', 'Ursula K. Le Guin', 10.99],
  ['雪国', '川端康成', 8.8]
] as const

export const orderNumber = (random: Random): string => `B-${integer(20_100, 29_900, random)}`

const CARRIERS = ['DHL', 'Evri', 'PostNord', 'La Poste']
const TOWNS = ['Leipzig', 'Gent', 'Porto', 'Turku', 'Cork', 'Lyon']

/** A customer's first message, the data that tools return for it, and the agent's answer. */
export interface SupportCase {
  readonly topic: 'delivery' | 'refund' | 'stock' | 'voucher'
  readonly question: string
  readonly found: unknown
  readonly answer: string
}

export function supportCase(random: Random): SupportCase {
  const order = orderNumber(random)
  const [title, author, price] = choose(BOOKS, random)
  const carrier = choose(CARRIERS, random)
  const town = choose(TOWNS, random)
  const days = integer(2, 9, random)
  return choose<() => SupportCase>(
    [
      () => ({
        topic: 'delivery',
        question: choose(
          [
            `My order ${order} should have arrived ${days} days ago. Where is it?`,
            `Hi, tracking for ${order} has said "in transit" since last week. Can you check?`,
            `Wo bleibt meine Bestellung ${order}? Sie sollte vor ${days} Tagen da sein.`,
            `注文 ${order} はまだ届いていません。いつ届きますか。`
          ],
          random
        ),
        found: { order, status: 'in_transit', carrier, lastScan: { town, daysAgo: days - 1 }, items: [title] },
        answer:
          `Your order **${order}** left us ${days + 2} days ago and was last scanned by ${carrier} in ${town}. ` +
          `That is longer than usual, so I have asked them to trace it. If the parcel has not arrived in three days, ` +
          'we will send the book again free of charge.'
      }),
      () => ({
        topic: 'refund',
        question: choose(
          [
            `I want to return "${title}" from order ${order}. It arrived with a torn cover.`,
            `Please refund ${order}, I ordered the wrong edition of ${title}.`
          ],
          random
        ),
        found: { order, status: 'delivered', items: [{ title, price }], deliveredDaysAgo: days, refundable: true },
        answer:
          `I am sorry about that. I have refunded **€${price.toFixed(2)}** for *${title}* to the original payment ` +
          `method; it takes two to five working days. You do not need to send the book back.`
      }),
      () => ({
        topic: 'stock',
        question: choose(
          [
            `Do you have ${title} by ${author} in stock, and can I pick it up today?`,
            `Is there a hardcover of "${title}"? I need it by Friday.`
          ],
          random
        ),
        found: [
          { title, author, format: 'paperback', stock: days, price },
          { title, format: 'hardcover', stock: 0 }
        ],
        answer:
          `We have ${days} paperback copies of *${title}* at €${price.toFixed(2)}, ready for pickup today. ` +
          'The hardcover is on order and should be here next week. Shall I reserve a copy for you?'
      }),
      () => ({
        topic: 'voucher',
        question: `The voucher code SPRING${days} is rejected at checkout for ${order}. It should be valid.`,
        found: { code: `SPRING${days}`, valid: true, minimum: 25, basket: price },
        answer:
          `The voucher is valid, but only for baskets of at least €25, and yours comes to €${price.toFixed(2)}. ` +
          `If you add another book, the code will work.`
      })
    ],
    random
  )()
}

export const FOLLOW_UPS = [
  [
    'Thanks. Can you send me a confirmation by email?',
    "I've sent the confirmation to the email address on your account."
  ],
  [
    "That doesn't help me. I've been waiting for two weeks!",
    'I understand that this is frustrating. I have escalated the case to a colleague, who will write to you today.'
  ],
  [
    'And can you change the delivery address?',
    'Yes. The parcel has not left our warehouse yet, so I have changed the address to the one you gave.'
  ],
  ['Is gift wrapping possible?', 'It is, for €2.50. I have added gift wrapping and a card to your order.'],
  ['ok thank you', 'You are welcome. Enjoy your book!']
] as const

export const SYSTEM = {
  v12:
    'You are the support agent of a bookshop. Look up orders before you answer. Never promise a delivery date. ' +
    'Refund up to €50 without asking. Be brief and friendly, and answer in the language of the customer.',
  v13:
    'You are the support agent of a bookshop.\n\n# Rules\n- Look up the order first.\n- State what happened, then ' +
    'what you did, then what they can do.\n- Never promise a delivery date.\n- Refund up to €50 without asking.\n' +
    '- Escalate if the customer is angry or asks twice.\n- Answer in the language of the customer, in at most 80 words.'
} as const

export const READERS = [
  'books about the sea that are not Moby-Dick',
  'a quiet novel for a long train journey',
  'fungi for beginners',
  'Japanese classics in translation under 15 euros',
  'science fiction without war',
  'a present for a ten-year-old who likes volcanoes',
  'something like The Overstory but shorter',
  'Bücher über Berge und Krankheit'
] as const

export const MAILS = [
  ['invoice', 'Please find attached invoice 2026-1183 for €1,284.50 for the October paper delivery.'],
  ['complaint', 'This is the third time that my parcel has been left in the rain. The books are ruined.'],
  ['order', 'We would like to order 25 copies of Piranesi for our reading group, on invoice.'],
  ['press', 'I write for the Evening Post and would like to interview the owner about small bookshops.'],
  ['spam', 'Congratulations!!! Your shop has been selected for a FREE search engine audit.']
] as const

export const BLURBS = [
  [
    'A house with endless halls, a tide, and one man who keeps its records.',
    'Ein Haus mit endlosen Sälen, eine Flut und ein Mann, der darüber Buch führt.'
  ],
  ['Two women, one map, and a winter that does not end.', 'Deux femmes, une carte, et un hiver qui ne finit pas.'],
  ['What fungi know about us, and what we owe them.', 'Lo que los hongos saben de nosotros, y lo que les debemos.']
] as const

export const ASPECTS = [
  'list price and discount for trade customers',
  'delivery times to Ireland after customs',
  'payment terms and minimum order',
  'sustainability certificates',
  'return policy for unsold stock',
  'reviews by other independent shops',
  'insolvency or ownership news'
] as const

export const FILES = [
  'src/checkout/total.ts',
  'src/checkout/voucher.ts',
  'src/orders/repository.ts',
  'src/orders/state.ts',
  'src/search/rank.ts',
  'test/checkout/total.test.ts',
  'test/orders/state.test.ts'
] as const

export const TASKS = [
  'Round refunds half away from zero, and add tests for negative amounts.',
  'Cancelling an order twice must not send two emails. Find the cause and fix it.',
  'Make the search ignore accents: "Krüger" should find "Kruger" as well.',
  'Move voucher validation out of the route handler, without changing its behaviour.'
] as const

export const codeOf = (file: string, random: Random): string =>
  `// ${file}\nexport function ${choose(['total', 'settle', 'apply'], random)}(lines: readonly Line[]): number {\n` +
  `  const cents = lines.reduce((sum, line) => sum + Math.round(line.price * 100) * line.count, 0)\n` +
  `  return cents / 100 // ${choose(['negative sums fail', 'see #318', 'rounded per line', 'checked'], random)}\n}\n`
