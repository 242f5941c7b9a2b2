/**
 * What the server sends, as far as the page reads it. Types only: the module is empty when it runs.
 *
 * @typedef {"stored"|"offered"|"seen"|"acked"|"bounced"|"expired"|"withdrawn"|"dead"} State
 *
 * @typedef {object} Delivery
 * @property {string} message
 * @property {string} recipient
 * @property {string} recipient_id
 * @property {State} state
 * @property {string|null} [route]
 * @property {string|null} [evidence]
 * @property {number} [attempts]
 * @property {string|null} [reason]
 * @property {boolean} [shown_before]
 * @property {string} [stored_at]
 * @property {string} [offered_at]
 * @property {string} [seen_at]
 * @property {string} [acked_at]
 * @property {string} [ended_at]
 * @property {string|null} [held_until]
 * @property {string|null} [next_attempt_at]
 * @property {string} [reach]
 * @property {Attempt[]} [history]
 *
 * @typedef {object} Attempt
 * @property {number} n
 * @property {string} route
 * @property {string} claimer
 * @property {string} claimed_at
 * @property {string|null} handed_at
 * @property {string} outcome
 * @property {string|null} evidence
 * @property {string|null} ended_at
 *
 * @typedef {object} Attachment
 * @property {string} [name]
 * @property {number} [size]
 *
 * @typedef {{field: string, text: string, marks: [number, number][]}} Snippet
 *
 * @typedef {object} Message
 * @property {string} id
 * @property {string} handle
 * @property {string} project
 * @property {string} sender
 * @property {string} sender_id
 * @property {string|null} [sender_runtime]
 * @property {string|null} [sender_role]
 * @property {string} to
 * @property {string} type
 * @property {string} priority
 * @property {string|null} subject
 * @property {string} body
 * @property {Record<string, unknown>|null} [payload]
 * @property {Record<string, unknown>|null} [metadata]
 * @property {string} thread
 * @property {string|null} [reply_to]
 * @property {boolean} [requires_ack]
 * @property {Attachment[]} [attachments]
 * @property {string|null} [not_before]
 * @property {string|null} [expires_at]
 * @property {string} [verified]
 * @property {string} created_at
 * @property {Snippet} [snippet] of what was searched for
 * @property {number} [seq]
 * @property {Delivery[]} deliveries
 *
 * @typedef {object} Session
 * @property {string} id
 * @property {string|null} runtime
 * @property {"idle"|"busy"|"permission"|"gone"|"unknown"} presence
 * @property {string|null} event
 * @property {string|null} since
 * @property {string|null} worktree
 * @property {string|null} branch
 * @property {string|null} pane
 * @property {string|null} wake
 * @property {boolean} proven
 * @property {string|null} bridge
 * @property {string|null} because
 *
 * @typedef {object} Manners
 * @property {boolean} left_alone
 * @property {string|null} until
 * @property {boolean} muted
 * @property {boolean} paused
 *
 * @typedef {object} Agent
 * @property {string} id
 * @property {string|null} project
 * @property {string} name
 * @property {string} address
 * @property {"agent"|"human"} kind
 * @property {string|null} role
 * @property {string[]} capabilities
 * @property {string} description
 * @property {string|null} [supervisor_address]
 * @property {string|null} left_at
 * @property {Manners|null} manners
 * @property {number} waiting
 * @property {number} held
 * @property {number} uncertain
 * @property {number} offered
 * @property {string} reach
 * @property {Session[]} sessions
 * @property {{reason: string, messages: number, due_at: string|null}[]} [why] of what is held
 * @property {boolean} [stops] whether a bridge can end what it does
 * @property {boolean} [told_to_stop] a message that says so waits for it
 * @property {{doing: string, because: string, instead: string|null, reason: string|null}|null} [bridge]
 *
 * @typedef {object} Gate
 * @property {Message} message
 * @property {string[]} options
 * @property {string} digest
 * @property {string[]} asked
 * @property {boolean} mine whether who looks may decide it
 * @property {string|null} expires_at
 * @property {{option: string, note: string, by: string, at: string}|null} decision
 * @property {string|null} withdrawn
 *
 * @typedef {object} Topic
 * @property {string} topic
 * @property {string} name
 * @property {string} project
 * @property {number|string[]} subscribers
 * @property {number} messages
 *
 * @typedef {object} Happening
 * @property {number} seq
 * @property {string} type
 * @property {string} timestamp
 * @property {string|null} agent_id
 * @property {string|null} [human_id]
 * @property {Record<string, any>} payload
 * @property {Record<string, any>} refs
 * @property {string|null} status
 * @property {Delivery} [delivery]
 * @property {Delivery[]} [deliveries]
 *
 * @typedef {Message & {delivery: Delivery}} DeadLetter
 *
 * @typedef {object} Me
 * @property {string} id
 * @property {string} address
 * @property {string[]} scopes
 * @property {string} home where commands must be told that the room is; empty: they find it
 */
export {};
