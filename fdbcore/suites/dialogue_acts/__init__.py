"""The Japanese dialogue-act benchmark: is the content of a reply right, as a sequence of weighted dialogue acts?

Watanabe, Mizumoto, Suto and Kawahara, "応答内容・順序に着目した音声対話ベンチマークの構築" (2026). A user's request is
played to a system; its reply, as text, is annotated with acts; the sequence is aligned with that of a reference reply.
"""
