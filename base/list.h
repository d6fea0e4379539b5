/*
 * Doubly linked list of members embedded in their structs. The list never
 * owns what it links.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include "base/base.h"

struct list {
	struct list *next, *prev; /* both NULL: a link in no list */
};

static inline void
list_init(struct list *head)
{
	head->next = head->prev = head;
}

static inline bool
list_is_empty(const struct list *head)
{
	return head->next == head || head->next == NULL;
}

static inline bool
list_is_linked(const struct list *link)
{
	return link->next != NULL;
}

static inline void
list_insert_before(struct list *where, struct list *link)
{
	link->next = where;
	link->prev = where->prev;
	where->prev->next = link;
	where->prev = link;
}

static inline void
list_append(struct list *head, struct list *link)
{
	list_insert_before(head, link);
}

/* A link in no list is fine. */
static inline void
list_remove(struct list *link)
{
	if (link->next == NULL)
		return;
	link->prev->next = link->next;
	link->next->prev = link->prev;
	link->next = link->prev = NULL;
}

#define LIST_FIRST(head, type, member)                                         \
	(list_is_empty(head) ? NULL : CONTAINER_OF((head)->next, type, member))

/* `next` holds the following link, so that `item` may be removed inside. */
#define LIST_EACH(item, next_link, head, type, member)                         \
	for (struct list *link_ = (head)->next, *next_link = link_->next;      \
	     link_ != (head) &&                                                \
	     ((item) = CONTAINER_OF(link_, type, member), 1);                  \
	     link_ = next_link, next_link = link_->next)

#endif
