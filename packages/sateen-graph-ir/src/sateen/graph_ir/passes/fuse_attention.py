"""Find attention among products and softmaxes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf, prod

from sateen.graph_ir.ir import Graph, GraphRewriter, Node, NodeSpan, Value
from sateen.graph_ir.ops import Add, Attention, BroadcastTo, Not, Reshape, Transpose
from sateen.graph_ir.passes.attention_search import AttentionParts, AttentionSearch


def fuse_attention(graph: Graph) -> Graph:
    """softmax(q · kᵀ · scale + mask) · v becomes one operator, whose scores are never in memory.

        %s = mat_mul(%q, %kt); %m = multiply(%s, %scale); %a = add(%m, %mask)
        %p = softmax(%a) {axis=3}; %y = mat_mul(%p, %v)
        =>  %k = transpose(%kt) {permutation=(0, 1, 3, 2)}; %y = attention(%q, %k, %v, %mask) {scale=0.125}

    Scaling by a number may be of q, k or the scores, by a product or a quotient; by a number for each matrix of the
    stack, such as a head, it becomes one of q. Masks are added, also where a reshape arranges the stack in another way,
    such as [batch · windows, heads] as [batch, windows, heads]; or they choose between scores and a number. A constant
    mask that excludes the keys behind each query's becomes the query's reach: such keys don't count, whatever their
    values are (docs/semantics.md). Sums over keys are in blocks, so it is left out with numerics strict. Rows whose
    scores are all -inf may be chosen to be 0. Keys and values that are repeated for several neighbours of a stack are
    read where they are. Nothing else may read what is between the products. Not on devices. Requires: static types.
    """
    rewriter = GraphRewriter(graph)
    search = AttentionSearch(graph)
    for node in graph.nodes:
        found = search.ending_with(node)
        if found is None:
            rewriter.keep(node)
        else:
            rewriter.replace(node, _fused(rewriter, node, found))
    return rewriter.finish()


def _fused(rewriter: GraphRewriter, node: Node, found: AttentionParts) -> Value:
    """The operator and what gives its operands."""
    spans = tuple(dict.fromkeys(span for n in (*reversed(found.nodes), node) for span in n.spans))
    q, k, v = (rewriter.value(x) for x in (found.q, found.k, found.v))
    if found.permutation != tuple(range(k.type.rank)):
        k = rewriter.insert(Transpose(found.permutation), k, name=k.name, spans=spans)
    for factor, each in found.factors:
        q = rewriter.insert(factor, q, rewriter.value(each), name=q.name, spans=spans)
    mask = _mask(rewriter, found, (*q.type.static_shape[:-1], v.type.static_shape[-2]), spans)
    fill = found.fill if found.chooser is not None else -inf
    op = Attention(found.scale, found.reach, fill, found.empty_is_zero)
    return rewriter.insert(op, q, k, v, *([] if mask is None else [mask]), name=node.outputs[0].name, spans=spans)


def _mask(
    rewriter: GraphRewriter, found: AttentionParts, scores: tuple[int, ...], spans: tuple[NodeSpan, ...]
) -> Value | None:
    """What is added to scores of a shape, or chooses them where it is true; None if nothing does."""
    if found.chooser is not None:
        mask = rewriter.value(found.chooser)
        return rewriter.insert(Not(), mask, name=mask.name, spans=spans) if found.is_inverted else mask
    masks = [_with_stack(rewriter, rewriter.value(m), here, scores, spans) for m, here in found.masks]
    if not masks:
        return None
    mask, *others = masks
    for other in others:
        mask = rewriter.insert(Add(), mask, other, name=mask.name, spans=spans)
    return mask


def _with_stack(
    rewriter: GraphRewriter, mask: Value, own: Sequence[int], wanted: Sequence[int], spans: tuple[NodeSpan, ...]
) -> Value:
    """A mask that broadcasts to scores of one shape, for scores of a shape whose stack is arranged in another way."""
    if own == wanted:
        return mask
    given = (1,) * (len(own) - mask.type.rank) + mask.type.static_shape
    spread: list[int] = []
    result: list[int] = []
    for a, b in _stretches(own[:-2], wanted[:-2]):
        is_one = prod(given[a]) == 1
        spread += given[a] if is_one else own[a]
        result += [1] * len(wanted[b]) if is_one else wanted[b]
    if [*given[:-2]] != spread:
        mask = rewriter.insert(BroadcastTo((*spread, *given[-2:])), mask, name=mask.name, spans=spans)
    return rewriter.insert(Reshape((*result, *given[-2:])), mask, name=mask.name, spans=spans)


def _stretches(one: Sequence[int], other: Sequence[int]) -> Iterator[tuple[slice, slice]]:
    """Stretches of axes of two shapes that have as many elements, as short as possible."""
    cuts = [(0, 0)]
    for i in range(1, len(one) + 1):
        for j in range(1, len(other) + 1):
            if i > cuts[-1][0] and j > cuts[-1][1] and prod(one[:i]) == prod(other[:j]):
                cuts.append((i, j))
    cuts[-1] = len(one), len(other)
    for (i, j), (end, other_end) in pairwise(cuts):
        yield slice(i, end), slice(j, other_end)
